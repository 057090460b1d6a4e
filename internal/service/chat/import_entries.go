package chat

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
	"google.golang.org/protobuf/proto"
)

// MaxImported bounds the entries of one call of ImportEntries.
const MaxImported = 200

var errTooManyImported = errs.New(errs.Invalid, "bad_count", "import 1 to 200 entries at once")

// ImportEntries appends entries to a conversation that is being imported, in order. A result says why an entry was refused; the others are stored. After
// an error of the whole, a repetition makes the rest.
func (s *Service) ImportEntries(ctx context.Context, c id.Conversation, entries []*operationv1.ImportEntry) ([]*operationv1.ImportedEntry, error) {
	if len(entries) == 0 || len(entries) > MaxImported {
		return nil, errTooManyImported
	}
	results, err := s.importEntries(ctx, c, entries)
	if err != nil {
		return nil, err
	}
	return results, s.eraseImported(ctx, c, entries, results)
}

func (s *Service) importEntries(ctx context.Context, c id.Conversation, entries []*operationv1.ImportEntry) ([]*operationv1.ImportedEntry, error) {
	conv := s.conversation(c)
	conv.changeMu.Lock()
	defer conv.changeMu.Unlock()
	st, err := s.loadState(ctx, conv)
	if err != nil {
		return nil, err
	}
	if !st.importing {
		return nil, errImportEnded
	}
	if st, err = s.takeImport(ctx, conv, st); err != nil {
		return nil, err
	}
	p := &importer{service: s, conv: conv, state: st, users: map[uint64]error{}, results: make([]*operationv1.ImportedEntry, len(entries))}
	if p.ids, err = s.lastImported(ctx, c); err != nil {
		return nil, err
	}
	for i, e := range entries {
		p.results[i] = &operationv1.ImportedEntry{}
		if err := p.add(ctx, p.results[i], e); err != nil {
			return nil, err
		}
	}
	return p.results, p.flush(ctx)
}

// importer appends the entries of one call. The caller holds changeMu.
type importer struct {
	service *Service
	conv    *conversation
	state   *state
	ids     importIDs
	users   map[uint64]error // why they do not exist
	pending []*importedEntry
	results []*operationv1.ImportedEntry
}

// importedEntry is a message or an update on its way to the log.
type importedEntry struct {
	key      string
	draft    message.Draft
	recalled bool // it has no content any more
	append   timeline.AppendRequest
	result   *operationv1.ImportedEntry
}

func refuse(result *operationv1.ImportedEntry, why error) {
	e := errs.Of(why)
	result.Reason, result.Message = e.Reason, e.Message
}

// add checks an entry, and appends it with the next flush. It returns errors of the store; a refusal is a result.
func (p *importer) add(ctx context.Context, result *operationv1.ImportedEntry, e *operationv1.ImportEntry) error {
	err := p.check(ctx, e)
	if err == nil {
		err = p.checkOrder(ctx, result, e)
	}
	if err == nil && result.Duplicate {
		return p.repeat(ctx, result, e)
	}
	if err == nil && e.Content.GetControl() != nil {
		err = p.control(ctx, result, e)
	} else if err == nil {
		err = p.message(ctx, result, e)
	}
	if errs.IsRefusal(err) {
		refuse(result, err)
		return nil
	}
	return err
}

func (p *importer) check(ctx context.Context, e *operationv1.ImportEntry) error {
	if !isImportKey(e.Key) || e.Target != "" && !isImportKey(e.Target) {
		return errImportKey
	}
	if err := p.service.checkImportTime(e.TimeMs); err != nil {
		return err
	}
	if e.Sender == 0 && e.Content.GetControl() != nil {
		return nil // the system's
	}
	return p.exist(ctx, e.Sender)
}

// exist checks that users exist.
func (p *importer) exist(ctx context.Context, users ...uint64) error {
	for _, u := range users {
		err, known := p.users[u]
		if !known {
			err = p.service.deps.Relations.Exist(ctx, []id.User{id.User(u)})
			if err != nil && !errs.IsRefusal(err) {
				return err
			}
			p.users[u] = err
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkOrder refuses an entry that is earlier than the last one, unless it is stored.
func (p *importer) checkOrder(ctx context.Context, result *operationv1.ImportedEntry, e *operationv1.ImportEntry) error {
	early := p.ids.some && e.TimeMs < p.ids.ms-importTolerance
	if !early && e.Content.GetThread() == nil { // the start of a thread has an effect before it is stored
		return nil
	}
	seq, err := p.find(ctx, e.Key)
	if err != nil {
		return err
	}
	switch {
	case seq == 0 && early:
		return errTimeOrder
	case seq == 0:
		return nil
	}
	result.Seq, result.Duplicate = seq, true
	return nil
}

// find returns the seq of an imported entry, 0 if there is none.
func (p *importer) find(ctx context.Context, key string) (uint64, error) {
	if slices.ContainsFunc(p.pending, func(e *importedEntry) bool { return e.key == key }) {
		if err := p.flush(ctx); err != nil {
			return 0, err
		}
	}
	return p.service.seqOfToken(ctx, p.conv.id, importToken(p.conv.id, key))
}

// repeat applies an entry that is stored: an earlier call may have ended between the two.
func (p *importer) repeat(ctx context.Context, result *operationv1.ImportedEntry, e *operationv1.ImportEntry) error {
	if e.Content.GetControl() != nil {
		return nil
	}
	list, err := p.stored(ctx, []uint64{result.Seq})
	if err != nil {
		return err
	}
	return p.service.applyImported(ctx, list)
}

// stored returns the messages and updates that are stored at some seqs, without those that have expired.
func (p *importer) stored(ctx context.Context, seqs []uint64) ([]*message.Stored, error) {
	if len(seqs) == 0 {
		return nil, nil
	}
	slices.Sort(seqs)
	var refs []timeline.Ref
	for _, seq := range slices.Compact(seqs) {
		refs = append(refs, timeline.Ref{Key: logKey(p.conv.id), From: seq, To: seq})
	}
	entries, err := p.service.deps.Log.Get(ctx, refs)
	if err != nil {
		return nil, err
	}
	var list []*message.Stored
	for _, stored := range entries {
		m := &message.Stored{Conversation: p.conv.id, Seq: stored.Seq}
		if err := m.Entry.Decode(stored.Payload); err != nil {
			return nil, errors.Join(errCorrupt, err)
		}
		if !m.Entry.Control {
			list = append(list, m)
		}
	}
	return list, nil
}

// message prepares a message or an update.
func (p *importer) message(ctx context.Context, result *operationv1.ImportedEntry, e *operationv1.ImportEntry) error {
	content := &chatv1.Content{}
	if e.Content != nil {
		content = proto.CloneOf(e.Content)
	}
	content.LinkPreview, content.BrokenOff, content.ExternalId, content.Bridge = nil, nil, "", "" // signed for their sender, and of the server
	updates, err := p.resolve(ctx, result, content, e)
	if err != nil {
		return err
	}
	q := &importedEntry{key: e.Key, result: result, recalled: content.Kind == nil,
		draft: message.Draft{Conversation: p.conv.id, Sender: id.User(e.Sender), ClientMsgID: importService, Updates: updates}}
	if err := p.encode(ctx, q, content); err != nil {
		return err
	}
	d := &q.draft
	d.ID = p.ids.next(uint8(p.state.kind), p.conv.id, max(e.TimeMs, p.ids.ms))
	counts := updates == 0 && !message.IsSignal(d.Content)
	author := e.Sender
	if !counts {
		author = 0
	}
	stored := message.Entry{ID: d.ID, Sender: d.Sender, Updates: updates, Content: d.Content}
	q.append = timeline.AppendRequest{Key: logKey(p.conv.id), Payload: stored.Append(nil), Token: importToken(p.conv.id, e.Key), Author: author, Counts: counts,
		CheckAccess: true, ExpectedAccess: p.state.access}
	p.pending = append(p.pending, q)
	return nil
}

// encode checks a content as that of a draft, and gives it its stored form.
func (p *importer) encode(ctx context.Context, q *importedEntry, content *chatv1.Content) (err error) {
	d := &q.draft
	if !q.recalled && content.GetThread() == nil {
		if d.Content, err = proto.Marshal(content); err != nil {
			return err
		}
		if err := validate(d); err != nil {
			return err
		}
		if err := proto.Unmarshal(d.Content, content); err != nil {
			return err
		}
	}
	if len(d.Uploads) > 0 && p.service.deps.CheckUploads != nil {
		by := make([]id.User, len(d.Uploads))
		for i := range by {
			by[i] = d.Sender
		}
		for _, err := range p.service.deps.CheckUploads(ctx, p.conv.id, by, d.Uploads) {
			if err != nil {
				return err
			}
		}
	}
	if e := content.GetEdit(); e != nil {
		if err := p.completeEdit(ctx, d.Updates, e); err != nil {
			return err
		}
	}
	if d.Updates == 0 && !message.IsSignal(d.Content) {
		content.ExternalId = q.key
	}
	d.Content, err = proto.MarshalOptions{Deterministic: true}.Marshal(content)
	return err
}

// completeEdit adds what an edit leaves as it is.
func (p *importer) completeEdit(ctx context.Context, seq uint64, e *chatv1.Edit) error {
	entries, err := p.service.deps.Log.Get(ctx, []timeline.Ref{{Key: logKey(p.conv.id), From: seq, To: seq}})
	if err != nil {
		return err
	}
	if len(entries) == 0 {
		return errNoTarget
	}
	t := &target{}
	if err := t.entry.Decode(entries[0].Payload); err != nil {
		return errors.Join(errCorrupt, err)
	}
	return completeEdit(t, e)
}

// resolve writes the seq of the target into a content, and returns that of a message that the entry changes. What replies to a message that is not there, because the source or this server
// has left it out, replies to nothing.
func (p *importer) resolve(ctx context.Context, result *operationv1.ImportedEntry, content *chatv1.Content, e *operationv1.ImportEntry) (updates uint64, err error) {
	isUpdate := content.GetEdit() != nil || content.GetRecall() != nil || content.GetReaction() != nil || content.GetPin() != nil || content.GetThread() != nil
	if content.ReplyTo = nil; e.Target == "" {
		if isUpdate {
			return 0, errNoTarget
		}
		return 0, nil
	}
	seq, err := p.find(ctx, e.Target)
	if err != nil {
		return 0, err
	}
	switch {
	case seq == 0 && isUpdate:
		return 0, errNoTarget
	case seq == 0:
		result.LostReply = content.Kind != nil
		return 0, nil
	}
	ref := &chatv1.Ref{Seq: seq}
	switch k := content.Kind.(type) {
	case *chatv1.Content_Edit:
		k.Edit.Target = ref
	case *chatv1.Content_Recall:
		k.Recall.Target = ref
	case *chatv1.Content_Reaction:
		k.Reaction.Target, k.Reaction.Reactions = ref, nil
	case *chatv1.Content_Pin:
		k.Pin.Target = ref
	case *chatv1.Content_Thread:
		c, err := p.service.insertThread(ctx, p.conv.id, seq)
		if err != nil {
			return 0, err
		}
		k.Thread.Target, k.Thread.Conversation = ref, uint64(c)
	case nil:
		return 0, nil
	default:
		content.ReplyTo = ref
		return 0, nil
	}
	return seq, nil
}

// flush appends what is pending, waits for the store, and applies updates.
func (p *importer) flush(ctx context.Context) error {
	list := p.pending
	p.pending = nil
	if err := p.noteAuthors(ctx, list); err != nil {
		return err
	}
	for todo, delays := list, backoff.New(10*time.Millisecond, time.Second); len(todo) > 0; {
		if err := p.append(ctx, todo); err != nil {
			return err
		}
		var wait []*importedEntry
		for _, q := range todo {
			if errors.Is(q.append.Err, timeline.ErrBusy) {
				wait = append(wait, q)
			} else if q.append.Err != nil {
				p.conv.invalidate()
				return changedMeanwhile(q.append.Err)
			}
		}
		if todo = wait; len(todo) > 0 {
			if err := delays.Wait(ctx); err != nil {
				return err
			}
		}
	}
	var apply []*message.Stored
	var repeated []uint64
	for _, q := range list {
		q.result.Seq, q.result.Duplicate = q.append.Seq, q.append.Duplicate
		if q.append.Duplicate { // what is stored takes effect, not what came with the same key
			repeated = append(repeated, q.append.Seq)
		} else if q.draft.Updates != 0 || q.draft.Mentions || q.recalled {
			apply = append(apply, &message.Stored{Conversation: p.conv.id, Seq: q.append.Seq, Entry: message.Entry{ID: q.draft.ID, Sender: q.draft.Sender, Updates: q.draft.Updates, Content: q.draft.Content}})
		}
	}
	again, err := p.stored(ctx, repeated)
	if err != nil {
		return err
	}
	return p.service.applyImported(ctx, append(apply, again...))
}

// noteAuthors stores, before there are entries, that authors who are no members have some in the conversation: their erasures and exports find them by that.
func (p *importer) noteAuthors(ctx context.Context, list []*importedEntry) error {
	var authors []id.User
	for _, q := range list {
		if u := q.draft.Sender; p.state.role(u) == 0 && !slices.Contains(authors, u) {
			authors = append(authors, u)
		}
	}
	if len(authors) == 0 {
		return nil
	}
	return p.service.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		for _, u := range authors {
			if _, err := tx.ExecContext(ctx, `INSERT INTO imported_authors (author, conversation) VALUES ($1, $2) ON CONFLICT DO NOTHING`, int64(u), int64(p.conv.id)); err != nil {
				return err
			}
		}
		return nil
	})
}

// append appends entries, and waits until all are stored or failed.
func (p *importer) append(ctx context.Context, list []*importedEntry) error {
	done := make(chan struct{}, len(list))
	requests := make([]*timeline.AppendRequest, len(list))
	for i, q := range list {
		q.append.Err, q.append.Done = nil, func(*timeline.AppendRequest) { done <- struct{}{} }
		requests[i] = &q.append
	}
	p.service.deps.Log.Append(requests...)
	for range list {
		select {
		case <-done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// applyImported applies updates, mentions, and messages without content. Nobody is notified of a mention.
func (s *Service) applyImported(ctx context.Context, list []*message.Stored) error {
	for some := range slices.Chunk(list, maxApplied) {
		results, _, err := s.applyWith(ctx, some, nil)
		if err != nil {
			return err
		}
		for i, err := range results {
			if err != nil && !hasNoEffect(err) {
				return err
			}
			if m := some[i]; m.Entry.Updates == 0 && hasNoKind(m.Entry.Content) {
				if err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
					return s.recallErased(ctx, tx, m.Entry.Sender, m.Conversation, []uint64{m.Seq}, nil)
				}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// hasNoKind reports whether a message was recalled before its import: it has an external id at most.
func hasNoKind(content []byte) bool {
	var c chatv1.Content
	return proto.Unmarshal(content, &c) == nil && c.Kind == nil
}
