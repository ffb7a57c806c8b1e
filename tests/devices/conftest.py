import sys
from pathlib import Path

# Small servers and readers of captures are shared by several test modules.
sys.path.insert(0, str(Path(__file__).parent))
