"""Names of providers: what each vocabulary calls them, as OpenTelemetry's names."""

_NAMES = {
    "az.ai.openai": "azure.ai.openai",
    "azure": "azure.ai.openai",
    "azure-openai": "azure.ai.openai",
    "azure_openai": "azure.ai.openai",
    "az.ai.inference": "azure.ai.inference",
    "aws": "aws.bedrock",
    "bedrock": "aws.bedrock",
    "amazon-bedrock": "aws.bedrock",
    "google": "gcp.gen_ai",
    "vertexai": "gcp.vertex_ai",
    "vertex_ai": "gcp.vertex_ai",
    "gemini": "gcp.gemini",
    "mistral": "mistral_ai",
    "mistralai": "mistral_ai",
    "xai": "x_ai",
    "together": "together_ai",
    "togetherai": "together_ai",
}

_PLACES = frozenset(
    {"chat", "responses", "completion", "completions", "messages", "embedding", "embeddings",
     "textembedding", "generative-ai", "image", "transcription", "speech", "generateContent"}
)  # fmt: skip
"""What Vercel's SDK puts behind a provider, as in `openai.chat`: the part of it that was used."""


def canonical(name: str | None) -> str | None:
    """A provider as it is named whatever the vocabulary; an unknown name stays as it is."""
    if name is None:
        return None
    head, _, place = name.partition(".")
    if place in _PLACES:
        name = head
    elif name.startswith("google.vertex"):
        name = "vertexai"
    lowered = name.lower()
    return _NAMES.get(lowered, lowered)
