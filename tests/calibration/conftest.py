import sys
from pathlib import Path

# The simulated rigs and the bad takes are shared with the benchmarks.
sys.path.append(str(Path(__file__).parents[2]))
