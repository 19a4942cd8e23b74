// An attachment as its name, type and size; an image is shown only when a person asks for it, and
// nothing is ever loaded from elsewhere.
import { useState } from "react";
import { bytes } from "../../format/numbers";
import { visible } from "../../text/visible";
import { Button } from "../Button";
import { blobAddress } from "./blobs";
import styles from "./Messages.module.css";
import type { AttachmentPart } from "./message";

const SHOWN = /^image\/(png|jpeg|gif|webp|avif|bmp)$/; // no SVG: it is a document

export function AttachmentView({ attachment }: { attachment: AttachmentPart }) {
  const [shown, show] = useState(false);
  const { source, mediaType, name } = attachment;
  const isImage = mediaType !== null && SHOWN.test(mediaType);
  const label = name ?? (mediaType?.startsWith("image/") ? "Image" : "Attachment");
  return (
    <div className={styles.attachment}>
      <span>
        <span aria-hidden="true">⎙ </span>
        {visible(label)}
      </span>
      <span className={styles.about}>
        {[mediaType, attachment.bytes === null ? null : bytes(attachment.bytes)]
          .filter((each) => each !== null)
          .map((each) => visible(each))
          .join(", ")}
      </span>
      {source.at === "elsewhere" && <code>{visible(source.address.slice(0, 2_000))}</code>}
      {source.at !== "elsewhere" && isImage && (
        <Button small aria-expanded={shown} onPress={() => show(!shown)}>
          {shown ? "Hide" : "Show"}
        </Button>
      )}
      {source.at === "blob" && (
        <a href={blobAddress(source.digest)} target="_blank" rel="noreferrer">
          Open
        </a>
      )}
      {shown && source.at !== "elsewhere" && (
        <img
          className={styles.image}
          src={source.at === "blob" ? blobAddress(source.digest) : source.url}
          alt={label}
        />
      )}
    </div>
  );
}
