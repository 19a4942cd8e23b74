"""Write the OpenAPI document, from which the client of the page is generated."""

import json
import sys
import tempfile
from pathlib import Path

from treadle.config.loader import LoadedConfig
from treadle.config.model import Settings
from treadle.server import create_app


def main() -> None:
    """Write it to the named file, or to standard output."""
    with tempfile.TemporaryDirectory() as root:
        document = create_app(Path(root), LoadedConfig(Settings(), {}), {}).openapi()
    text = json.dumps(document, indent=1) + "\n"
    if len(sys.argv) > 1:
        path = Path(sys.argv[1])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
