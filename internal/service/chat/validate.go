package chat

import (
	"bytes"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/message"
)

// Limits of messages.
const (
	MaxText     = message.MaxText
	maxClientID = 64
)

var (
	errNoClientID  = errs.New(errs.Invalid, "no_client_id", "give clientSeq (a count, from 1) or clientMsgId (1 to 64 bytes), so that a retry is harmless")
	errBadPrevious = errs.New(errs.Invalid, "bad_previous", "prevClientSeq is that of an earlier message of this device, so it is lower than clientSeq")
	errTextTooLong = errs.New(errs.Invalid, "text_too_long", "a text has at most 100,000 characters; send it in parts, or as a file")
	errBadText     = errs.New(errs.Invalid, "bad_text", "a text must be valid UTF-8 without U+0000")
	errEmptyText   = errs.New(errs.Invalid, "empty_text", "a text needs at least one visible character")
	errNoContent   = errs.New(errs.Invalid, "no_content", "a message needs content of exactly one kind")
)

func validate(d *message.Draft) error {
	if d.ClientSeq == 0 && (d.ClientMsgID == "" || len(d.ClientMsgID) > maxClientID) || d.ClientSeq > 1<<63-1 {
		return errNoClientID
	}
	if d.ClientSeq != 0 && d.ClientMsgID != "" {
		return errs.New(errs.Invalid, "two_client_ids", "give clientSeq or clientMsgId, not both")
	}
	if d.ClientSeq != 0 && d.Device == 0 { // without a device, two counters of a user would collide, and a message be lost
		return errs.New(errs.Invalid, "no_device", "clientSeq needs a device, and this session has none: give clientMsgId")
	}
	if d.PrevClientSeq != 0 && d.PrevClientSeq >= d.ClientSeq {
		return errBadPrevious
	}
	if text, ok := message.TextOf(d.Content); ok {
		return validateText(text)
	}
	return validateContent(d)
}

func validateText(text []byte) error {
	if len(text) > 4*MaxText {
		return errTextTooLong
	}
	visible, ascii := false, true
	for _, c := range text {
		if c >= utf8.RuneSelf {
			ascii = false
			break
		}
		if c == 0 {
			return errBadText
		}
		visible = visible || c > ' ' && c != 0x7f
	}
	if !ascii {
		if !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 {
			return errBadText
		}
		if len(text) > MaxText && utf8.RuneCount(text) > MaxText {
			return errTextTooLong
		}
		visible = visible || message.HasVisible(text)
	} else if len(text) > MaxText {
		return errTextTooLong
	}
	if !visible {
		return errEmptyText
	}
	return nil
}
