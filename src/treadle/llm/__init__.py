"""Connects to providers and sends requests to models.

Only this package knows the format in which requests are sent.
"""

from treadle.llm.catalog import ModelTest, ProviderModels, check_model, list_models
from treadle.llm.model_selection import (
    connect,
    connect_with_fallbacks,
    default_model,
    default_model_of,
    is_embedded,
)
from treadle.llm.provider_errors import ProviderError

__all__ = [
    "ModelTest",
    "ProviderError",
    "ProviderModels",
    "check_model",
    "connect",
    "connect_with_fallbacks",
    "default_model",
    "default_model_of",
    "is_embedded",
    "list_models",
]
