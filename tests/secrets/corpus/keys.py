# ruff: noqa: E501  (a table of texts, one a line)
"""Keys of each vendor, drawn at random in the form that the vendor documents.

Nothing here looks like a live key: prefixes are joined to random text only when the tests run.
"""

import base64
import string
from collections.abc import Callable, Mapping
from random import Random

LETTERS = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
UPPER = string.ascii_uppercase + string.digits
LOWER = string.ascii_lowercase + string.digits
WORD = LETTERS + "-_"
BASE32 = string.ascii_uppercase + "234567"

Make = Callable[[Random], str]


def text(random: Random, length: int, alphabet: str = LETTERS) -> str:
    """Random text; of letters and digits it has at least one digit."""
    made = "".join(random.choice(alphabet) for _ in range(length))
    if alphabet in {LETTERS, WORD, UPPER, LOWER} and not any(map(str.isdigit, made)):
        return f"{made[: length // 2]}7{made[length // 2 + 1 :]}"
    return made


def after(prefix: tuple[str, ...], length: int, alphabet: str = LETTERS) -> Make:
    """Keys that are a prefix, given in parts, and random text."""
    return lambda random: "".join(prefix) + text(random, length, alphabet)


def uuid_like(random: Random) -> str:
    return "-".join(text(random, length, HEX) for length in (8, 4, 4, 4, 12))


def jwt(random: Random) -> str:
    def part(content: bytes) -> str:
        return base64.urlsafe_b64encode(content).decode().rstrip("=")

    head = part(b'{"alg":"HS256","typ":"JWT"}')
    body = part(b'{"sub":"' + text(random, 12).encode() + b'","iat":1516239022}')
    return f"{head}.{body}.{text(random, 43, WORD)}"


def pem(kind: str) -> Make:
    def make(random: Random) -> str:
        lines = "\n".join(text(random, 64, LETTERS + "+/") for _ in range(6))
        title = " ".join(filter(None, (kind, "PRIVATE", "KEY")))
        return f"-----BEGIN {title}-----\n{lines}\n-----END {title}-----"

    return make


VENDORS: Mapping[str, Make] = {
    "openai": lambda r: "sk" + f"-proj-{text(r, 48, WORD)}T3{text(r, 20)}",
    "anthropic": lambda r: "sk" + f"-ant-api03-{text(r, 93, WORD)}AA",
    "openrouter": after(("sk", "-or-v1-"), 64, HEX),
    "deepseek": after(("sk", "-"), 32, HEX),
    "xai": after(("xai", "-"), 80),
    "perplexity": after(("pplx", "-"), 48),
    "groq": after(("gsk", "_"), 52),
    "replicate": after(("r8", "_"), 37),
    "huggingface": after(("hf", "_"), 34),
    "nvidia": after(("nvapi", "-"), 64, WORD),
    "langsmith": lambda r: "lsv2" + f"_pt_{text(r, 32, HEX)}_{text(r, 10, HEX)}",
    "pinecone": lambda r: "pcsk" + f"_{text(r, 6)}_{text(r, 60)}",
    "aws access key": after(("AK", "IA"), 16, BASE32),
    "google api": after(("AI", "za", "Sy"), 33, WORD),
    "google oauth": after(("ya", "29."), 120, WORD),
    "google client": after(("GOC", "SPX-"), 28, WORD),
    "github": after(("gh", "p_"), 36),
    "github fine-grained": lambda r: "github" + f"_pat_{text(r, 22)}_{text(r, 59)}",
    "gitlab": after(("gl", "pat-"), 20, WORD),
    "slack bot": lambda r: "xox" + f"b-{text(r, 12, string.digits)}-{text(r, 12, string.digits)}-{text(r, 24)}",
    "slack webhook": lambda r: "https://hooks." + f"slack.com/services/T{text(r, 8, UPPER)}/B{text(r, 8, UPPER)}/{text(r, 24)}",
    "discord bot": lambda r: f"M{text(r, 25, LETTERS)}.{text(r, 6)}.{text(r, 38, WORD)}",
    "telegram bot": lambda r: f"{r.randrange(10**8, 10**10)}:AA{text(r, 33, WORD)}",
    "stripe": after(("sk", "_li", "ve_"), 24),
    "stripe webhook": after(("wh", "sec_"), 32),
    "square": after(("sq0", "atp-"), 22, WORD),
    "shopify": after(("shp", "at_"), 32, HEX),
    "plaid": lambda r: "access" + f"-production-{uuid_like(r)}",
    "razorpay": after(("rzp", "_live_"), 14),
    "twilio": after(("S", "K"), 32, HEX),
    "sendgrid": lambda r: "S" + f"G.{text(r, 22, WORD)}.{text(r, 43, WORD)}",
    "mailgun": after(("k", "ey-"), 32, HEX),
    "mailchimp": lambda r: f"{text(r, 32, HEX)}-us{r.randrange(1, 21)}",
    "brevo": lambda r: "xkey" + f"sib-{text(r, 64, HEX)}-{text(r, 16)}",
    "npm": after(("np", "m_"), 36),
    "pypi": after(("py", "pi-", "AgEIcHlwaS5vcmc"), 120, WORD),
    "rubygems": after(("ruby", "gems_"), 48, HEX),
    "docker hub": after(("dckr", "_pat_"), 27, WORD),
    "digitalocean": after(("do", "p_v1_"), 64, HEX),
    "databricks": after(("da", "pi"), 32, HEX),
    "heroku": lambda r: "HRKU" + f"-{text(r, 58, WORD)}",
    "netlify": after(("nf", "p_"), 36),
    "vercel": after(("vc", "p_"), 40),
    "fly": after(("fm2", "_"), 100, LETTERS + "+/"),
    "supabase": after(("sb", "p_"), 40, HEX),
    "planetscale": after(("pscale", "_tkn_"), 43, WORD),
    "cloudflare origin": lambda r: "v1" + f".0-{text(r, 24, HEX)}-{text(r, 146, HEX)}",
    "alibaba": after(("LT", "AI"), 20),
    "tencent": after(("AK", "ID"), 32),
    "yandex": after(("AQ", "VN"), 38, WORD),
    "vault": after(("hv", "s."), 90, WORD),
    "terraform cloud": lambda r: f"{text(r, 14)}.atlas" + f"v1.{text(r, 67, WORD)}",
    "doppler": after(("dp", ".pt."), 43),
    "pulumi": after(("pu", "l-"), 40, HEX),
    "1password": after(("ops", "_eyJ"), 200, LETTERS),
    "age": after(("AGE-SECRET", "-KEY-1"), 58, UPPER),
    "azure client": lambda r: f"{text(r, 3)}8Q~{text(r, 34, LETTERS)}",
    "linear": after(("lin", "_api_"), 40),
    "notion": after(("nt", "n_"), 46),
    "atlassian": after(("ATA", "TT3"), 180, WORD),
    "airtable": lambda r: "pa" + f"t{text(r, 14)}.{text(r, 64, HEX)}",
    "hubspot": lambda r: "pat" + f"-na1-{uuid_like(r)}",
    "figma": after(("fi", "gd_"), 40, WORD),
    "postman": lambda r: "PM" + f"AK-{text(r, 24, HEX)}-{text(r, 34, HEX)}",
    "contentful": after(("CF", "PAT-"), 43, WORD),
    "dropbox": after(("sl", ".B"), 130, WORD),
    "grafana": lambda r: "gl" + f"sa_{text(r, 32)}_{text(r, 8, HEX)}",
    "new relic": after(("NR", "AK-"), 27, UPPER),
    "sentry": lambda r: "sn" + f"tryu_{text(r, 64, HEX)}",
    "dynatrace": lambda r: "dt0" + f"c01.{text(r, 24, BASE32)}.{text(r, 64, BASE32)}",
    "sonarqube": after(("sq", "u_"), 40, HEX),
    "snyk": after(("snyk", "_uat."), 48),
    "circleci": after(("CCI", "PAT_"), 60),
    "posthog": after(("ph", "x_"), 43),
    "facebook": after(("EA", "AC"), 180),
    "square token": after(("EA", "AA"), 60, WORD),
    "gitlab runner": after(("gl", "rt-"), 20, WORD),
    "harness": lambda r: "pa" + f"t.{text(r, 22)}.{text(r, 24, HEX)}.{text(r, 20)}",
    "octopus": after(("AP", "I-"), 26, UPPER),
    "openshift": after(("sha", "256~"), 43, WORD),
    "aiven": after(("AV", "NS_"), 19),
    "infracost": after(("ic", "o-"), 32),
    "adobe": after(("p8", "e-"), 32, LOWER),
    "azure devops": lambda r: f"{text(r, 76)}AZ" + f"DO{text(r, 4)}",
    "lob": after(("li", "ve_"), 35, HEX),
    "paypal": after(("A21", "AA"), 92, WORD),
    "paddle": lambda r: "pdl" + f"_live_apikey_01{text(r, 24, LOWER)}_{text(r, 22)}_{text(r, 3)}",
    "polar": after(("polar", "_oat_"), 43),
    "axiom": lambda r: "xa" + f"at-{uuid_like(r)}",
    "scalingo": after(("tk", "-us-"), 48, WORD),
    "runpod": after(("rp", "a_"), 46, UPPER),
    "val town": after(("vt", "wn_"), 32),
    "42 intra": after(("s-s4", "t2ud-"), 64, HEX),
    "maxmind": lambda r: f"{text(r, 6)}_{text(r, 29)}_m" + "mk",
    "new relic license": lambda r: f"{text(r, 32, HEX)}FF" + "FFNRAL",
    "authress": lambda r: "sc_" + f"{text(r, 12, LOWER)}.{text(r, 4, LOWER)}.acc-{text(r, 12, LOWER)}.{text(r, 60)}",
    "clickhouse": after(("4b", "1d"), 38),
    "gitpod": after(("gitpod", "_pat_"), 40),
    "deno": after(("dd", "p_"), 36),
    "linode": after(("lin", "_pat_"), 40),
    "brex": after(("bx", "t_"), 40),
    "cal.com": after(("cal", "_live_"), 32),
    "alchemy": after(("al", "cht_"), 30),
    "inngest": after(("sign", "key-prod-"), 64, HEX),
    "trigger.dev": after(("tr", "_prod_"), 24),
    "onesignal": after(("os", "_v2_app_"), 100, LOWER),
    "settlemint": after(("sm", "_pat_"), 16),
    "socket": after(("sk", "tsec_"), 46),
    "codesandbox": after(("csb", "_v1_"), 44),
    "endor labs": after(("en", "dr+"), 24),
    "xata": after(("xa", "u_"), 40),
    "upstash": after(("qst", "ash_"), 40),
    "defined networking": after(("dn", "key-"), 52, LOWER),
    "bedrock": after(("bedrock-api", "-key-"), 120),
    "salesforce": lambda r: "00" + f"D{text(r, 15)}!{text(r, 96)}",
    "zoho": lambda r: "10" + f"00.{text(r, 32, HEX)}.{text(r, 32, HEX)}",
    "jwt": jwt,
    "rsa key": pem("RSA"),
    "openssh key": pem("OPENSSH"),
    "pkcs8 key": pem(""),
}  # fmt: skip
"""How a key of each vendor is drawn."""
