# ruff: noqa: E501  (a pattern on one line is easier to read)
"""Detectors for keys of vendors, by their prefix or by their whole form.

The vendors document these forms. A prefix alone is not enough. The text after the prefix must be
random and as long as in the vendor's keys.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from treadle.secrets.detector import Detector, Finding, starts_word
from treadle.secrets.randomness import is_key_body, longest_run

_DISTINCT = 5
"""The least length of a prefix that may follow a dash. Shorter ones may be parts of words."""
_JOINED = 3
"""The least length of a prefix that may follow a dash if it ends with `_`, `-` or `.`."""
_LONG = 20
"""The least length of the text after a prefix that may follow a dash because of `_JOINED`."""
HEX = r"[a-fA-F0-9]"
LETTERS = r"[A-Za-z0-9]"
WORD = r"[A-Za-z0-9_-]"
DOTTED = r"[A-Za-z0-9_.~-]"


@dataclass(frozen=True, slots=True)
class Family:
    """A form of keys: a prefix, then `least` to `most` characters of `body`.

    If `most` is None, the length has no upper limit. If `exact` is true, the word must end after
    the key. If `random` is true, the body must look random. If `alone` is true, the prefixes are
    ordinary parts of names, so `_` and `-` before a prefix count as part of the word.
    """

    kind: str
    prefixes: tuple[str, ...]
    body: str = LETTERS
    least: int = 20
    most: int | None = None
    random: bool = True
    exact: bool = False
    alone: bool = False

    def is_distinct(self, prefix: str) -> bool:
        """Whether a key with this prefix may follow a dash, as in `old-ghp_…`."""
        joined = not prefix[-1:].isalnum() and len(prefix) >= _JOINED
        return (joined and self.least >= _LONG) or (not self.alone and len(prefix) >= _DISTINCT)

    @property
    def pattern(self) -> str:
        """The pattern of the text after the prefix."""
        count = f"{{{self.least},{self.most or ''}}}+"
        end = r"(?![A-Za-z0-9])" if self.exact else ""
        return f"{self.body}{count}{end}"


def _exactly(kind: str, prefix: str | tuple[str, ...], body: str, count: int) -> Family:
    prefixes = (prefix,) if isinstance(prefix, str) else prefix
    return Family(kind, prefixes, body, count, count, exact=True, alone=True)


MODELS = (
    # Keys of OpenAI, Anthropic, OpenRouter, DeepSeek, Langfuse, LiteLLM, Helicone and many more.
    Family("api-key", ("sk-", "sk-proj-", "sk-ant-", "sk-or-v1-", "sk-svcacct-"), WORD),
    Family("api-key", ("xai-", "pplx-", "nvapi-", "tvly-", "csk-", "ctx7sk-"), WORD),
    Family("api-key", ("gsk_", "r8_", "fw_", "jina_", "e2b_", "bb_live_", "fc-", "pa-"), WORD),
    Family("api-key", ("tgp_v1_", "lsv2_pt_", "lsv2_sk_", "pcsk_", "apify_api_"), WORD),
    Family("huggingface-token", ("hf_", "api_org_"), LETTERS, 30),
    _exactly("elevenlabs-key", "sk_", HEX, 48),
    Family(
        "api-key",
        (
            "esecret_",
            "wandb_v1_",
            "VF.DM.",
        ),
        DOTTED,
        24,
    ),
    Family("neptune-token", ("eyJhcGlfYWRkcmVzcyI6",), r"[A-Za-z0-9+/=_-]", 30),
    Family("bedrock-key", ("bedrock-api-key-",), r"[A-Za-z0-9+/=_-]", 30),
    Family("treadle-key", ("tdl_",), WORD, 40),
)
CODE_HOSTS = (
    Family("github-token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), LETTERS, 36),
    Family("github-token", ("github_pat_",), r"[A-Za-z0-9_]", 22),
    Family(
        "gitlab-token",
        (
            *("glpat-", "gldt-", "glrt-", "glrtr-", "glptt-", "glcbt-", "glsoat-", "glffct-"),
            *("glimt-", "glagent-", "gloas-", "glft-", "glwt-", "GR1348941"),
        ),
        DOTTED,
    ),
    Family("bitbucket-token", ("ATBB", "BBDC-"), r"[A-Za-z0-9_=+/-]", 24),
    Family("atlassian-token", ("ATATT3", "ATCTT3", "ATOA", "ATSTT3"), r"[A-Za-z0-9_=.-]", 60),
    Family("sourcegraph-token", ("sgp_", "slk_"), WORD, 32),
    Family("npm-token", ("npm_",), LETTERS, 36),
    Family("pypi-token", ("pypi-AgE",), WORD, 40),
    Family("rubygems-key", ("rubygems_",), HEX, 40),
    Family("nuget-key", ("oy2",), r"[a-z0-9]", 43, 43, exact=True),
    Family("crates-token", ("cio",), LETTERS, 32, 32, exact=True),
    Family("clojars-token", ("CLOJARS_",), LETTERS, 40),
    Family("packagist-token", ("packagist_ort_", "packagist_oat_", "packagist_out_"), LETTERS, 32),
    Family("docker-token", ("dckr_pat_", "dckr_oat_"), WORD),
    Family("artifactory-key", ("AKCp", "cmVmdGtu"), LETTERS, 50),
    Family("sonar-token", ("squ_", "sqp_", "sqa_"), HEX, 40),
    Family("circleci-token", ("CCIPAT_", "CCIPRJ_"), WORD, 32),
    Family("buildkite-token", ("bkua_", "bkat_", "bkpt_"), LETTERS, 32),
    Family("codeium-token", ("cog_",), LETTERS, 32),
    Family("harness-token", ("pat.", "sat."), r"[A-Za-z0-9._-]", 60),
    Family("gitpod-token", ("gitpod_pat_",), DOTTED, 20),
    Family("codesandbox-token", ("csb_v1_",), WORD, 30),
    Family("deno-token", ("ddp_", "ddo_", "ddw_"), LETTERS, 32),
    Family("socket-token", ("sktsec_",), WORD, 30),
    Family("jsr-token", ("jsrp_", "jsrs_"), WORD, 30),
    Family("buildkite-token", ("bkaj_", "bkct_", "bkjt_"), DOTTED, 32),
    Family("endorlabs-key", ("endr+",), WORD, 16),
    Family("stackhawk-key", ("hawk.",), r"[A-Za-z0-9_.-]", 40),
    Family("settlemint-token", ("sm_aat_", "sm_pat_", "sm_sat_"), LETTERS, 16),
    Family("octopus-key", ("API-",), r"[A-Z0-9]", 25, 32, exact=True),
)
CHAT = (
    Family(
        "slack-token",
        ("xoxa-", "xoxb-", "xoxc-", "xoxd-", "xoxe-", "xoxe.", "xoxo-", "xoxp-", "xoxr-",
         "xoxs-", "xapp-", "xwfp-"),
        r"[A-Za-z0-9_.%/+-]", 10,
    ),
    Family(
        "slack-webhook",
        ("hooks.slack.com/services/", "hooks.slack.com/workflows/", "hooks.slack.com/triggers/"),
        r"[A-Za-z0-9/]",
    ),
    Family("discord-webhook", ("discord.com/api/webhooks/", "discordapp.com/api/webhooks/"),
           r"[A-Za-z0-9_/-]", 60),
    Family("teams-webhook", ("webhook.office.com/webhookb2/",), r"[A-Za-z0-9@/-]", 60),
    Family("facebook-token", ("EAAC", "EAAB", "EAAG", "EAAM", "EAAD"), LETTERS, 60),
    Family("instagram-token", ("IGQV", "IGQW"), WORD, 60),
    Family("twitter-token", ("AAAAAAAAAAAAAAAAAAAAA",), r"[A-Za-z0-9%]", 50),
)  # fmt: skip
CLOUDS = (
    # These keys have sixteen characters of base32, which may lack digits.
    Family("aws-key", ("AKIA", "ASIA", "ABIA", "ACCA"), r"[A-Z2-7]", 16, 16, random=False,
           exact=True),
    Family("aws-key", ("ABSK",), r"[A-Za-z0-9+/]", 100),
    Family("alibaba-key", ("LTAI",), LETTERS, 16, 24, exact=True),
    Family("tencent-key", ("AKID",), LETTERS, 32, 32, exact=True),
    Family("google-key", ("AIza",), WORD, 35, 35, exact=True),
    Family("google-token", ("ya29.", "GOCSPX-", "1//0"), WORD),
    Family("yandex-key", ("AQVN", "y0_"), WORD, 35),
    Family("yandex-key", ("t1.",), r"[A-Za-z0-9_.=-]", 100, alone=True),
    Family("digitalocean-token", ("dop_v1_", "doo_v1_", "dor_v1_"), HEX, 64),
    Family("databricks-token", ("dapi", "dose", "dkea"), HEX, 32, 32, exact=True),
    Family("fly-token", ("fm1_", "fm1a_", "fm2_", "fo1_"), r"[A-Za-z0-9+/=_-]", 30),
    Family("heroku-key", ("HRKU-",), WORD, 30),
    Family("netlify-token", ("nfp_", "nfc_", "nfo_", "nfb_", "nfu_"), LETTERS, 32),
    Family("vercel-token", ("vcp_", "vca_", "vck_", "vci_", "vcr_", "vercel_blob_rw_"), WORD, 22),
    Family("render-key", ("rnd_",), LETTERS, 24),
    Family("cloudflare-key", ("v1.0-", "cfut_", "cfat_", "cfk_"), r"[A-Za-z0-9_-]", 40),
    Family("supabase-key", ("sbp_", "sb_secret_"), WORD),
    Family("planetscale-key", ("pscale_tkn_", "pscale_pw_", "pscale_oauth_"), DOTTED, 30),
    Family("neon-key", ("napi_",), LETTERS, 40),
    Family("tailscale-key", ("tskey-",), r"[A-Za-z0-9-]", 20),
    Family("ngrok-key", ("ak_2",), WORD, 28),
    Family("scalingo-token", ("tk-us-",), WORD, 48, 48, exact=True),
    Family("runpod-key", ("rpa_",), LETTERS, 40),
    Family("val-town-token", ("vtwn_",), LETTERS, 28),
    Family("scaleway-key", ("SCW",), r"[A-Z0-9]", 17, 17, exact=True),
    Family("ibm-key", ("ApiKey-",), WORD, 30),
    Family("openshift-token", ("sha256~",), WORD, 43, 43, exact=True),
    Family("aiven-password", ("AVNS_",), WORD, 16, 24, exact=True),
    Family("clickhouse-key", ("4b1d",), LETTERS, 38, 38, exact=True),
    Family("upstash-key", ("qstash_",), WORD, 32),
    Family("xata-key", ("xau_",), LETTERS, 30),
    Family("koyeb-token", ("koyeb_",), LETTERS, 32),
    Family("linode-token", ("lin_pat_",), LETTERS, 32),
    Family("hasura-key", ("hasura_pat_", "pat_hasura_"), LETTERS, 30),
    Family("pterodactyl-key", ("ptlc_", "ptla_"), LETTERS, 40),
    Family("defined-key", ("dnkey-",), r"[A-Za-z0-9=_-]", 40),
    Family("adafruit-key", ("aio_",), LETTERS, 28, 28, exact=True),
    Family("prisma-key", ("eyJhcGlfa2V5Ijoi",), WORD, 40),
    Family("modal-token", ("ak-", "as-"), LETTERS, 22, 22, exact=True, alone=True),
    Family("infracost-key", ("ico-",), LETTERS, 32, 32, exact=True, alone=True),
)  # fmt: skip
VAULTS = (
    Family("vault-token", ("hvs.", "hvb.", "hvr."), WORD, 24),
    Family("doppler-token", ("dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."),
           r"[A-Za-z0-9_.-]", 40),
    Family("1password-token", ("ops_eyJ",), r"[A-Za-z0-9+/=_-]", 30),
    Family("age-key", ("AGE-SECRET-KEY-1",), r"[A-Z0-9]", 50),
    Family("pulumi-token", ("pul-",), HEX, 40),
)  # fmt: skip
MONEY = (
    Family(
        "stripe-key",
        ("sk_live_", "sk_test_", "rk_live_", "rk_test_", "sk_org_", "sk_sbox_", "sk_prod_"),
        LETTERS, 16,
    ),
    Family("stripe-key", ("whsec_",), r"[A-Za-z0-9+/]", 24),
    Family("square-key", ("sq0atp-", "sq0csp-", "sq0idp-", "EAAAE", "EAAAl"), WORD, 22),
    Family("square-key", ("EAAA",), WORD, 60, 60, exact=True),
    Family("braintree-key", ("access_token$production$", "access_token$sandbox$"),
           r"[a-z0-9$]", 40),
    Family("plaid-token", ("access-sandbox-", "access-development-", "access-production-"),
           r"[a-f0-9-]", 36),
    Family("razorpay-key", ("rzp_live_", "rzp_test_"), LETTERS, 14),
    Family("flutterwave-key", ("FLWSECK_TEST-", "FLWSECK-"), WORD),
    Family("adyen-key", ("AQE",), r"[A-Za-z0-9+/=.-]", 80),
    Family("shopify-token", ("shpat_", "shpca_", "shppa_", "shpss_", "shptka_"), HEX, 32),
    Family("easypost-key", ("EZAK", "EZTK"), LETTERS, 50),
    Family("shippo-token", ("shippo_live_", "shippo_test_"), HEX, 40),
    Family("duffel-token", ("duffel_live_", "duffel_test_"), WORD, 40),
    Family("lob-key", ("live_", "test_"), HEX, 35, 35, exact=True, alone=True),
    Family("paypal-token", ("A21AA",), WORD, 60),
    Family("paddle-key", ("pdl_live_apikey_", "pdl_sdbx_apikey_"), WORD, 40),
    Family("polar-token", ("polar_oat_", "polar_pat_"), WORD, 32),
    Family("lob-key", ("live_pub_", "test_pub_"), HEX, 31),
    Family("gocardless-token", ("live_", "sandbox_"), WORD, 40, 44, exact=True, alone=True),
    Family("brex-token", ("bxt_",), LETTERS, 30),
    Family("mercury-token", ("secret-token:mercury_",), WORD, 30),
    Family("cal-key", ("cal_live_", "cal_test_"), LETTERS, 30),
    Family("alchemy-key", ("alcht_",), LETTERS, 28),
)  # fmt: skip
MAIL = (
    Family("sendgrid-key", ("SG.",), DOTTED, 38),
    Family("brevo-key", ("xkeysib-", "xsmtpsib-"), r"[A-Za-z0-9-]", 60),
    _exactly("mailgun-key", "key-", HEX, 32),
    Family("mandrill-key", ("md-",), WORD, 22, 22, exact=True, alone=True),
    Family("resend-key", ("re_",), r"[A-Za-z0-9_]", 24, alone=True),
    _exactly("twilio-key", "SK", r"[a-f0-9]", 32),
    Family("telnyx-key", ("KEY0",), r"[A-F0-9_A-Za-z]", 40),
    Family("klaviyo-key", ("pk_live_secret_",), LETTERS, 30),
    Family("messagebird-key", ("AccessKey ",), LETTERS, 25, 25, exact=True),
)
WATCHING = (
    Family("grafana-token", ("glsa_", "glc_"), r"[A-Za-z0-9_+/=-]", 32),
    Family("newrelic-key", ("NRAK-", "NRJS-", "NRII-", "NRIQ-", "NRRA-", "NRAA-"), WORD, 18),
    Family("sentry-token", ("sntrys_", "sntryu_", "sntrya_"), r"[A-Za-z0-9_=+/.-]", 40),
    Family("dynatrace-token", ("dt0c01.", "dt0s01.", "dt0s16."), r"[A-Z0-9.]", 60),
    Family("honeycomb-key", ("hcaik_", "hcbik_", "hcxik_", "hcamk_"), LETTERS, 32),
    Family("posthog-key", ("phx_", "phs_"), LETTERS, 40),
    Family("snyk-token", ("snyk_uat.", "snyk_sat."), DOTTED, 30),
    Family("logfire-token", ("pylf_v1_", "pylf_v2_"), r"[A-Za-z0-9_]", 30),
    Family("confluent-key", ("cflt",), r"[A-Za-z0-9+/]", 58),
    Family("axiom-token", ("xaat-", "xapt-"), r"[a-f0-9-]", 36),
    Family("inngest-key", ("signkey-prod-", "signkey-test-", "signkey-branch-"), HEX, 32),
    Family("trigger-key", ("tr_prod_", "tr_dev_", "tr_stg_", "tr_pat_"), LETTERS, 20),
    Family("grafana-token", ("eyJrIjoi",), r"[A-Za-z0-9+/=]", 60),
    Family("sentry-token", ("sntrye_",), r"[A-Za-z0-9_=+/.-]", 40),
    Family("onesignal-key", ("os_v2_app_", "os_v2_org_"), LETTERS, 40),
    Family("prefect-key", ("pnu_", "pnb_"), LETTERS, 36),
)  # fmt: skip
WORK = (
    Family("linear-key", ("lin_api_", "lin_oauth_", "lin_wh_"), LETTERS, 32),
    Family("notion-token", ("ntn_", "secret_"), LETTERS, 40),
    Family("hubspot-token", ("pat-na1-", "pat-na2-", "pat-eu1-"), r"[A-Fa-f0-9-]", 36),
    Family("figma-token", ("figd_", "figu_", "figoh_", "figor_"), WORD),
    Family("trello-token", ("ATTA",), r"[a-zA-Z0-9]", 64),
    Family("postman-key", ("PMAK-", "PMAT-"), r"[A-Za-z0-9-]", 26),
    Family("readme-key", ("rdme_",), r"[a-z0-9]", 50),
    Family("typeform-token", ("tfp_",), WORD, 40),
    Family("contentful-token", ("CFPAT-",), WORD, 43),
    Family("dropbox-token", ("sl.u.", "sl.B", "sl.A"), WORD, 60, alone=True),
    Family("frameio-token", ("fio-u-",), WORD, 40),
    Family("mapbox-token", ("sk.eyJ",), r"[A-Za-z0-9_.-]", 40),
    Family("zapier-webhook", ("hooks.zapier.com/hooks/catch/",), r"[A-Za-z0-9/]", 8, random=False),
    Family("okta-token", ("SSWS 00", "SSWS%2000"), WORD, 38),
    Family("stytch-secret", ("secret-live-", "secret-test-"), WORD, 30),
    Family("segment-token", ("sgp_",), LETTERS, 60),
    Family("miro-token", ("eyJtaXJvLm9yaWdpbiI6",), WORD, 20),
    Family("intercom-token", ("dG9rOj",), r"[A-Za-z0-9+/=]", 40),
    Family("onfido-token", ("api_live.", "api_sandbox.", "api_live_us."), DOTTED, 30),
    Family("workos-key", ("sk_live_c2s", "sk_test_a2V5"), LETTERS, 30),
    Family("adobe-secret", ("p8e-",), WORD, 32, 32, exact=True),
    Family("intra42-secret", ("s-s4t2ud-", "s-s4t2af-"), HEX, 64),
    Family("rootly-token", ("rootly_",), HEX, 40),
    Family("scrapfly-key", ("scp-live-", "scp-test-"), HEX, 32),
    Family("mailersend-token", ("mlsn.",), LETTERS, 40),
    Family("wakatime-key", ("waka_",), r"[a-f0-9-]", 36),
    Family("unkey-key", ("unkey_",), LETTERS, 16),
    Family("lichess-token", ("lip_",), LETTERS, 20),
    Family("mongodb-secret", ("mdb_sa_sk_",), WORD, 30),
    Family("cockroach-key", ("CCDB1_",), WORD, 40),
    Family("amazon-secret", ("amzn1.oa2-cs.v1.",), HEX, 40),
    Family("amazon-token", ("amzn.mws.",), r"[a-f0-9-]", 36),
    Family("amazon-token", ("Atza|", "Atzr|"), r"[A-Za-z0-9+/=_-]", 60),
    Family("samsara-token", ("samsara_api_",), LETTERS, 24),
    Family("zuplo-key", ("zpka_",), r"[A-Za-z0-9_]", 30),
    Family("volcengine-key", ("AKLT",), LETTERS, 40),
    Family("pinterest-token", ("pina_",), LETTERS, 32),
    Family("persona-key", ("persona_sandbox_", "persona_production_"), WORD, 30),
    Family("llamacloud-key", ("llx-",), LETTERS, 40),
    Family("mem0-key", ("m0-",), LETTERS, 36, alone=True),
    Family("cursor-key", ("crsr_",), HEX, 60),
    Family("n8n-key", ("n8n_api_",), LETTERS, 40),
    Family("honeybadger-token", ("hbp_",), LETTERS, 30),
    Family("coralogix-key", ("cxtp_", "cxup_"), LETTERS, 28),
    Family("woocommerce-key", ("ck_", "cs_"), HEX, 40, 40, exact=True),
    Family("quicknode-key", ("QN_",), HEX, 32, 32, exact=True),
    Family("checkly-key", ("cu_",), HEX, 32, 32, exact=True, alone=True),
    Family("friendli-token", ("flp_",), LETTERS, 40),
    Family("cartesia-key", ("sk_car_",), LETTERS, 20),
    Family("webhook", ("maker.ifttt.com/trigger/",), r"[A-Za-z0-9_/-]", 30),
    Family(
        "webhook",
        (
            "hook.eu1.make.com/",
            "hook.eu2.make.com/",
            "hook.us1.make.com/",
            "hook.us2.make.com/",
            "webhook.site/",
            "hc-ping.com/",
        ),
        r"[a-z0-9-]",
        30,
    ),
    Family(
        "webhook",
        ("open.feishu.cn/open-apis/bot/v2/hook/", "open.larksuite.com/open-apis/bot/v2/hook/"),
        r"[a-f0-9-]",
        36,
    ),
    Family("webhook", ("qyapi.weixin.qq.com/cgi-bin/webhook/send?key=",), r"[a-f0-9-]", 36),
    Family("flagsmith-key", ("ser.",), LETTERS, 22, 22, exact=True, alone=True),
    Family("bitwarden-token", ("0.eyJ",), DOTTED, 40, alone=True),
    Family("infisical-token", ("st.",), r"[a-f0-9.]", 60, alone=True),
    Family("pangea-token", ("pts_", "pti_", "psa_"), r"[a-z2-7]", 32, 32, exact=True),
    Family("raycast-token", ("rca_",), HEX, 64),
    Family("chief-token", ("ctp_",), LETTERS, 30),
    Family("localstack-token", ("ls-",), r"[A-Za-z0-9-]", 36, 40, exact=True, alone=True),
    Family("svix-token", ("testsk_", "livesk_"), DOTTED, 30),
)

FAMILIES = (*MODELS, *CODE_HOSTS, *CHAT, *CLOUDS, *VAULTS, *MONEY, *MAIL, *WATCHING, *WORK)
"""All families, in the order in which they are tried."""


def dashed_families() -> Iterator[Family]:
    """Yield the families, limited to the prefixes that may follow a dash."""
    for family in FAMILIES:
        prefixes = tuple(filter(family.is_distinct, family.prefixes))
        if prefixes:
            yield replace(family, prefixes=prefixes)


def _by_prefix(family: Family) -> Detector:
    starts = "|".join(
        starts_word(prefix, alone=family.alone, dashed=family.is_distinct(prefix))
        for prefix in family.prefixes
    )

    def find(match: re.Match[str]) -> Finding | None:
        body = match["body"].rstrip(".,;:")  # without the punctuation of a sentence
        if family.random and not is_key_body(body):
            return None
        return match.start(), match.start("body") + len(body), family.kind

    return Detector(f"(?:{starts})(?P<body>{family.pattern})", find, family.prefixes)


def _by_form(kind: str, pattern: str, screen: str, *hints: str) -> Detector:
    """Return a detector for keys with a form of their own instead of a prefix."""
    joined = "" if hints[0].endswith("-") else ".-"  # a key may follow a dash or a dot
    return Detector(
        rf"(?:(?<![A-Za-z0-9{joined}])|(?<=\\[nrtbf])){pattern}(?![A-Za-z0-9])",
        lambda match: (*match.span(), kind) if longest_run(match[0]) >= 6 else None,
        hints,
        (screen,),
        cues=(screen,),
    )


_FORMS = (
    _by_form("airtable-token", r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}", r"pat[A-Za-z0-9]{14}\.", "pat"),
    _by_form("asana-token", r"[12]/[0-9]{10,20}(?:/[0-9]{10,20})?:[a-f0-9]{32}", r"[0-9]{4}:[a-f0-9]{16}", ":"),
    _by_form("clickup-token", r"pk_[0-9]{5,10}_[A-Z0-9]{32}", r"pk_[0-9]+_", "pk_"),
    _by_form("1password-key", r"A3-[A-Z0-9]{6}-[A-Z0-9-]{20,40}", r"A3-[A-Z0-9]{6}-", "A3-"),
    _by_form("launchdarkly-key", r"(?:sdk|api|mob)-[a-f0-9]{8}-[a-f0-9]{4}-4[a-f0-9]{3}-[a-f0-9]{4}-[a-f0-9]{12}",
           r"(?:sdk|api|mob)-[a-f0-9]{8}-", "sdk-", "api-", "mob-"),
    _by_form("discord-token", rf"[MNO]{WORD}{{23,27}}\.{WORD}{{6}}\.{WORD}{{27,40}}",
           rf"[MNO]{WORD}*\.{WORD}{{6}}\.{WORD}{{10}}", "."),
    _by_form("telegram-token", rf"(?:bot)?[0-9]{{8,10}}:AA{WORD}{{33}}", rf"[0-9]:AA{WORD}{{8}}", ":AA"),
    _by_form("azure-key", r"[A-Za-z0-9+/]{42,76}(?:\+ACR|AzSe|AzFu|AzCa|ACDb|\+AMC|\+ASt|\+ABa|AIoT|APIM|JQQJ|AZEG|AACR)[A-Za-z0-9+/]{4,6}={0,2}",
           r"[A-Za-z0-9+/](?:\+ACR|AzSe|AzFu|AzCa|ACDb|\+AMC|\+ASt|\+ABa|AIoT|APIM|JQQJ|AZEG)[A-Za-z0-9+/]{4}",
           "+ACR", "AzSe", "AzFu", "AzCa", "ACDb", "+AMC", "+ASt", "+ABa", "AIoT", "APIM", "JQQJ", "AZEG"),
    _by_form("mailchimp-key", r"[0-9a-f]{32}-us[0-9]{1,2}", r"[0-9a-f]-us[0-9]", "-us"),
    _by_form("azure-secret", r"[A-Za-z0-9_~.]{3}[78]Q~[A-Za-z0-9_~.-]{31,34}",
           r"[78]Q~[A-Za-z0-9_~.-]{6}", "Q~"),
    _by_form("maxmind-key", r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk", r"_mmk", "_mmk"),
    _by_form("azure-devops-token", r"[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}", r"AZDO[A-Za-z0-9]{4}", "AZDO"),
    _by_form("terraform-token", rf"[A-Za-z0-9]{{14}}\.atlasv1\.{WORD}{{60,70}}", r"\.atlasv1\.",
           ".atlasv1."),
    _by_form("firebase-key", rf"AAAA{WORD}{{7}}:{WORD}{{130,160}}", rf"AAAA{WORD}{{7}}:", "AAAA"),
    _by_form("newrelic-key", r"(?:[0-9a-f]{32}|[0-9a-z]{6}[0-9a-f]{26}|eu01xx[0-9a-f]{26})FFFFNRAL|[0-9a-f]{36}NRAL", r"[0-9a-fA-F]{4}NRAL", "NRAL"),
    _by_form("salesforce-token", r"00D[A-Za-z0-9]{12,15}![A-Za-z0-9._]{80,120}", r"00D[A-Za-z0-9]{12}", "00D"),
    _by_form("zoho-token", r"1000\.[a-f0-9]{32}\.[a-f0-9]{32}", r"1000\.[a-f0-9]{16}", "1000."),
    _by_form("authress-key", r"(?:sc|ext|scauth|authress)_[a-z0-9]{5,30}\.[a-z0-9]{4,6}\.acc[_-][a-z0-9-]{10,32}\.[A-Za-z0-9+/_=-]{30,120}",
           r"\.acc[_-][a-z0-9]", ".acc"),
    _by_form("shopify-token", r"[0-9a-f]{32}\.[0-9a-f]{32}\.[0-9a-f]{32}", r"\.[0-9a-f]{16}", "."),
)  # fmt: skip

VENDOR_DETECTORS = (*map(_by_prefix, FAMILIES), *_FORMS)
