import sys
from pathlib import Path

# The simulated rigs and the bad takes are shared with the benchmarks, which import them as neighbours.
sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))
