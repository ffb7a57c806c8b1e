import sys
from pathlib import Path

# Random trees are shared with the benchmarks, so they are an importable module instead of fixtures.
sys.path.insert(0, str(Path(__file__).parent))
