package chat

import (
	"context"
	"database/sql"
	"errors"
	"strconv"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/pagetoken"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

var (
	errNotSender = errs.New(errs.Denied, "not_sender", "only its sender edits a message")
	errEditKind  = errs.New(errs.Invalid, "bad_edit", "a text is replaced by a text; of an image, a file, a voice message, a video or an album only the caption changes")
)

// validateEdit checks the new content as that of a message.
func validateEdit(d *message.Draft, e *chatv1.Edit) error {
	if e.Content.GetEdit() != nil || e.Content.GetRecall() != nil || e.Content.GetReaction() != nil || e.Content.GetPin() != nil || e.Content.GetBridgeReport() != nil || e.Content.GetReplyTo() != nil || e.Ends {
		return errs.New(errs.Invalid, "bad_edit", "an edit has the new content of a message; what that replies to stays")
	}
	raw, err := proto.Marshal(e.Content)
	if err != nil || e.Content == nil {
		return errNoContent
	}
	if text, ok := message.TextOf(raw); ok {
		return validateText(text)
	}
	edited := message.Draft{Content: raw}
	if err := validateContent(&edited); err != nil {
		return err
	}
	if d.LinkPreview = edited.LinkPreview; d.LinkPreview { // the uploads of other kinds stay those of the message
		d.Uploads = edited.Uploads
	}
	return nil
}

// completeEdit adds to an edit what it leaves as it is: what the message replies to, where it came from, and all of a file or album but its caption.
func completeEdit(t *target, e *chatv1.Edit) error {
	var before chatv1.Content
	if err := proto.Unmarshal(t.entry.Content, &before); err != nil {
		return errCorrupt
	}
	switch was, is := captionOf(&before), captionOf(e.Content); {
	case was != nil && is != nil:
		*was, before.Mentions = *is, e.Content.Mentions
		e.Content = &before
	case before.GetStreamed() != nil && !e.Ends && t.state.editSeq == 0:
		return errBeingWritten
	case e.Ends && before.GetStreamed() == nil:
		return errNotStreamed
	case (before.GetText() != "" || before.GetStreamed() != nil) && (e.Content.GetText() != "" || e.Ends):
		e.Content.ReplyTo, e.Content.ExternalId, e.Content.Bridge = before.ReplyTo, before.ExternalId, before.Bridge
	default:
		return errEditKind
	}
	return nil
}

// captionOf returns the caption of files, nil for other kinds.
func captionOf(c *chatv1.Content) *string {
	switch k := c.GetKind().(type) {
	case *chatv1.Content_Image:
		return &k.Image.Caption
	case *chatv1.Content_File:
		return &k.File.Caption
	case *chatv1.Content_Voice:
		return &k.Voice.Caption
	case *chatv1.Content_Video:
		return &k.Video.Caption
	case *chatv1.Content_Album:
		return &k.Album.Caption
	}
	return nil
}

func (u *update) applyEdit(ctx context.Context, tx *sql.Tx, mentions []*chatv1.Mention) error {
	if _, err := tx.ExecContext(ctx, `INSERT INTO message_edits (conversation, seq, edit_seq) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`, int64(u.conversation), int64(u.target), int64(u.seq)); err != nil {
		return err
	}
	if err := errors.Join(u.deleteMentions(ctx, tx, u.seq), u.applyMentions(ctx, tx, u.seq, mentions)); err != nil {
		return err
	}
	return u.set(ctx, tx, `UPDATE message_updates SET edit_seq = $3 WHERE conversation = $1 AND seq = $2 AND edit_seq < $3`)
}

// editsPerPage is the most edits of a page of ListEdits.
const editsPerPage = 100

// ListEdits returns a page of the versions of a message from its first on. A page's token is the edit_seq at which it begins.
func (s *Service) ListEdits(ctx context.Context, u id.User, r *chatv1.ListEditsRequest) (*chatv1.ListEditsResponse, error) {
	c := id.Conversation(r.Conversation)
	begin, err := pagetoken.Start(r.Page, uint64(0))
	if err != nil {
		return nil, err
	}
	t, err := s.readTarget(ctx, u, c, r.Seq)
	if err != nil {
		return nil, err
	}
	seqs, err := s.querySeqs(ctx, `SELECT edit_seq FROM message_edits WHERE conversation = $1 AND seq = $2 AND edit_seq >= $3 ORDER BY edit_seq LIMIT $4`,
		int64(c), int64(r.Seq), int64(begin), editsPerPage+1)
	if err != nil {
		return nil, err
	}
	keys := make([]messageKey, min(len(seqs), editsPerPage))
	for i := range keys {
		keys[i] = messageKey{c, seqs[i]}
	}
	var edits map[messageKey]edit
	for ; ; keys = keys[:(len(keys)+3)/4] { // one edit is never too large
		if edits, err = s.readEdits(ctx, keys); !errors.Is(err, timeline.ErrTooLarge) {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	first := message.Stored{Conversation: c, Seq: r.Seq, Entry: t.entry}
	out := &chatv1.ListEditsResponse{}
	if len(keys) < len(seqs) {
		out.Next = strconv.FormatUint(seqs[len(keys)], 10)
	}
	add := func(m message.Stored) error {
		v := &chatv1.Message{}
		out.Versions = append(out.Versions, v)
		return proto.Unmarshal(m.AppendProto(nil), v)
	}
	if begin == 0 && !message.IsStreamed(t.entry.Content) { // else the first version is its end
		if err := add(first); err != nil {
			return nil, err
		}
	}
	for _, k := range keys {
		e, ok := edits[k]
		if !ok {
			continue // it expired just now
		}
		m := first
		m.Entry.Content = e.content
		m.State = message.AppendEdited(nil, k.seq, e.ms)
		if err := add(m); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// edit is the content that an edit gave a message. With the end of a streamed message, ms is 0.
type edit struct {
	content []byte
	ms      int64
}

// readEdits reads the contents that some edits gave. Those that have expired, or are corrupt, are missing. It fails with
// timeline.ErrTooLarge if they exceed a page; one never does.
func (s *Service) readEdits(ctx context.Context, keys []messageKey) (map[messageKey]edit, error) {
	edits := make(map[messageKey]edit, len(keys))
	refs := make([]timeline.Ref, len(keys))
	for i, k := range keys {
		refs[i] = timeline.Ref{Key: logKey(k.conversation), From: k.seq, To: k.seq}
	}
	entries, err := s.getEach(ctx, refs)
	if err != nil {
		return nil, err
	}
	for i, k := range keys {
		if entries[i].Seq != 0 {
			s.addEdit(edits, k, entries[i].Payload)
		}
	}
	return edits, nil
}

func (s *Service) addEdit(edits map[messageKey]edit, k messageKey, stored []byte) {
	var e message.Entry
	var content chatv1.Content
	err := e.Decode(stored)
	if err == nil {
		err = proto.Unmarshal(e.Content, &content)
	}
	var raw []byte
	if err == nil {
		raw, err = proto.Marshal(content.GetEdit().GetContent())
	}
	if err != nil {
		s.deps.Logger.Error("a corrupt edit is left out: run rialto verify", "conversation", k.conversation, "seq", k.seq, "error", err)
		return
	}
	found := edit{content: raw}
	if !content.GetEdit().GetEnds() {
		found.ms = e.ID.Ms()
	}
	edits[k] = found
}
