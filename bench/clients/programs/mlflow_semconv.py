"""The tracing SDK of MLflow, with OpenTelemetry's names for the attributes."""

import os

os.environ["MLFLOW_ENABLE_OTEL_GENAI_SEMCONV"] = "true"

if __name__ == "__main__":
    from bench.clients.programs.mlflow import main

    main(
        {
            "provider": "the option drops it",
            "reasoning tokens": "the option drops them",
            "chat/call/cached tokens": "the option drops them",
            "chat/call/cost": "the option drops the cached tokens",
            "responses/cached tokens": "the option drops them",
            "responses/cost": "the option drops the cached tokens",
            "root name": "the option puts the operation before the name",
            "root input": "the option drops it",
            "root output": "the option drops it",
            "embed/input": "the option drops it",
            "embed/input tokens": "the option drops them",
            "embed/cost": "the option drops the tokens",
        }
    )
