"""``python -m workers.agent``: the command ``hpcfair-agent``."""

from workers.agent.cli import main

if __name__ == "__main__":
    main()
