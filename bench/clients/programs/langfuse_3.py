"""The program of Langfuse with version 3 of the client."""

from bench.clients.programs.langfuse import main

if __name__ == "__main__":
    main({"responses/call/input": "this version does not send the instructions"})
