import sys
from pathlib import Path

# The simulated rigs and the bad takes are shared with the benchmarks, which import them as neighbours. At
# the end of
# the path, so that no benchmark hides an installed package of the same name.
sys.path.append(str(Path(__file__).parents[2] / "bench"))
