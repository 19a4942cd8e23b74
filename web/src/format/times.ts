// Readable moments. All moments of the server are Unix microseconds.
import { UNKNOWN } from "./numbers";

const clock = new Intl.DateTimeFormat("en-GB", {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
});
const shortClock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const dayOfYear = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "short",
  year: "numeric",
});
const utcDay = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "short",
  year: "numeric",
  timeZone: "UTC",
});
const monthOfYear = new Intl.DateTimeFormat("en-GB", { month: "short", year: "numeric" });
const YEAR_SECONDS = 366 * 86_400;

/** The time for today, with the day for earlier ones: "14:03:20", "3 Nov 14:03:20". */
export function moment(microseconds: number | null | undefined, now: number = Date.now()): string {
  if (microseconds == null) return UNKNOWN;
  const at = new Date(microseconds / 1_000);
  const today = new Date(now);
  if (at.toDateString() === today.toDateString()) return clock.format(at);
  const date = at.getFullYear() === today.getFullYear() ? day : dayOfYear;
  return `${date.format(at)} ${clock.format(at)}`;
}

/** The day in UTC: "3 Nov 2026". */
export function dayInUtc(microseconds: number): string {
  return utcDay.format(new Date(microseconds / 1_000));
}

/**
 * The label of an axis that shows so many seconds: "14:00", and at midnight the new day: "3 Nov".
 * Over more than a year: "Nov 2026".
 */
export function tickMoment(microseconds: number, shownSeconds: number): string {
  const at = new Date(microseconds / 1_000);
  if (shownSeconds > YEAR_SECONDS) return monthOfYear.format(at);
  return (at.getHours() === 0 && at.getMinutes() === 0 ? day : shortClock).format(at);
}

/**
 * The approximate age: "now", "3 min ago", "2 h ago", "5 d ago"; "in 5 d" if the clock is ahead.
 */
export function ago(microseconds: number | null | undefined, now: number = Date.now()): string {
  if (microseconds == null) return UNKNOWN;
  const seconds = Math.round(now / 1_000 - microseconds / 1_000_000);
  if (Math.abs(seconds) < 10) return "now";
  const long = roughly(Math.abs(seconds));
  return seconds < 0 ? `in ${long}` : `${long} ago`;
}

function roughly(seconds: number): string {
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3_600) return `${Math.round(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.round(seconds / 3_600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}

/** The complete moment, for a title or a copy: RFC 3339 in UTC with microseconds. */
export function exactMoment(microseconds: number | null | undefined): string {
  if (microseconds == null) return UNKNOWN;
  const whole = Math.floor(microseconds / 1_000);
  const rest = String(microseconds - whole * 1_000).padStart(3, "0");
  return new Date(whole).toISOString().replace("Z", `${rest}Z`);
}
