package chat

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"slices"
	"strings"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
)

// An import writes the history of a conversation with its original times (docs/decisions/0140-imports.md). Its first entry says that it is being
// imported: until a control entry of action access ends that, the log has entries of the import only, so that times ascend with seqs. Members may leave meanwhile,
// and are erased: those entries take ids among those of the import. All these entries leave no fan-out records: they are in no stream, and push nothing. Members have them from the log, as those of a large group.
//
// Each entry has a token made from its key in the source, so that a repetition stores nothing. The time of an entry is that of its id, as of any other entry.

const (
	importService   = "import"
	maxImportKey    = 128  // bytes
	importTolerance = 1000 // milliseconds by which an entry may be earlier than the one before; it gets the time of that one
	importSpins     = 1 << 11
	maxSpin         = 1<<12 - 1
	// maxConcurrentlyImported is how many control entries are appended, at most, by nodes that had all read the same newest id.
	maxConcurrentlyImported = 32
)

var (
	errImporting   = &errs.Error{Kind: errs.Unavailable, Reason: "importing", Message: "the history of this conversation is being imported; try again later", Retry: 10e9}
	errImportEnded = errs.New(errs.Conflict, "import_ended", "the import of this conversation has ended")
	errHasHistory  = errs.New(errs.Conflict, "has_history", "these two users have a conversation that was not imported; what is older cannot be put before it")
	errImportKey   = errs.New(errs.Invalid, "bad_key", "a key in the source has 1 to 128 bytes of valid UTF-8")
	errImportTime  = errs.New(errs.Invalid, "bad_time", "an imported entry has a time from 1970 to now")
	errTimeOrder   = errs.New(errs.Invalid, "time_order", "an entry with a later time was imported before; import a conversation in the order of its times")
)

// ImportConversation creates a conversation for an import, or finds it. ended: its import has ended.
func (s *Service) ImportConversation(ctx context.Context, r *operationv1.ImportConversationRequest) (c id.Conversation, ended bool, err error) {
	if err := s.checkImportTime(r.TimeMs); err != nil {
		return 0, false, err
	}
	control := &chatv1.Control{Action: chatv1.Control_ACTION_CREATED, Actor: r.Owner, Importing: true}
	switch {
	case r.Parent != 0:
		c, err = s.importThread(ctx, r, control)
	case r.Direct:
		c, err = s.importDirect(ctx, r, control)
	default:
		c, err = s.importGroup(ctx, r, control)
	}
	if err != nil {
		return 0, false, err
	}
	if err := s.appendImportedCreated(ctx, c, control, r.TimeMs); err != nil {
		return 0, false, err
	}
	first, err := s.readControl(ctx, c, 1)
	if err != nil {
		return 0, false, err
	}
	if !first.Importing {
		return 0, false, errHasHistory
	}
	st, err := s.linearizableState(ctx, c)
	if err != nil {
		return 0, false, err
	}
	return c, !st.importing, nil
}

func (s *Service) importGroup(ctx context.Context, r *operationv1.ImportConversationRequest, control *chatv1.Control) (id.Conversation, error) {
	title, err := parseTitle(r.Title)
	if err != nil {
		return 0, err
	}
	if !isImportKey(r.Key) {
		return 0, errImportKey
	}
	owner := id.User(r.Owner)
	if err := s.checkOwner(ctx, owner); err != nil {
		return 0, err
	}
	members, err := s.importedMembers(ctx, owner, r.Members)
	if err != nil {
		return 0, err
	}
	policy := r.JoinPolicy
	if policy == 0 {
		policy = chatv1.JoinPolicy_JOIN_POLICY_INVITE
	}
	if policy < 1 || policy > 3 {
		return 0, errJoinPolicy
	}
	control.Users, control.Text, control.JoinPolicy = members, title, policy
	return s.insertGroup(ctx, owner, &chatv1.CreateGroupRequest{Key: serviceKey + importService + " " + r.Key, Channel: r.Channel})
}

// importedMembers returns the users beside the owner, each once.
func (s *Service) importedMembers(ctx context.Context, owner id.User, list []uint64) ([]uint64, error) {
	members := slices.Clone(list)
	slices.Sort(members)
	members = slices.DeleteFunc(slices.Compact(members), func(u uint64) bool { return u == uint64(owner) })
	if err := s.checkCapacity(&state{}, len(members)+1); err != nil {
		return nil, err
	}
	users := make([]id.User, 0, len(members)+1)
	for _, u := range append([]uint64{uint64(owner)}, members...) {
		users = append(users, id.User(u))
	}
	for some := range slices.Chunk(users, maxUsersPerCall) {
		if err := s.deps.Relations.Exist(ctx, some); err != nil {
			return nil, err
		}
	}
	return members, nil
}

func (s *Service) importDirect(ctx context.Context, r *operationv1.ImportConversationRequest, control *chatv1.Control) (id.Conversation, error) {
	if len(r.Members) != 1 {
		return 0, errs.New(errs.Invalid, "bad_count", "a one-to-one conversation has an owner and one member, who may be the same user")
	}
	a, b := id.User(r.Owner), id.User(r.Members[0])
	if err := s.deps.Relations.Exist(ctx, []id.User{a, b}); err != nil {
		return 0, err
	}
	control.Users = directCreatedControl(a, b).Users
	c, err := s.findDirect(ctx, a, b)
	if err != nil || c != 0 {
		return c, err
	}
	return s.insertDirect(ctx, a, b)
}

func (s *Service) importThread(ctx context.Context, r *operationv1.ImportConversationRequest, control *chatv1.Control) (id.Conversation, error) {
	parent := id.Conversation(r.Parent)
	st, err := s.linearizableState(ctx, parent)
	if err != nil {
		return 0, err
	}
	if st.kind == thread || st.channel || st.ticket != 0 {
		return 0, errNoThreads
	}
	seq, err := s.seqOfToken(ctx, parent, importToken(parent, r.Root))
	if err != nil {
		return 0, err
	}
	if seq == 0 {
		return 0, errNoTarget
	}
	if len(r.Members) > maxThreadFollowers {
		return 0, errThreadFull
	}
	members, err := s.importedMembers(ctx, id.User(r.Owner), r.Members)
	if err != nil {
		return 0, err
	}
	control.Users = append([]uint64{r.Owner}, members...)
	return s.insertThread(ctx, parent, seq)
}

// appendImportedCreated is appendCreated with a time.
func (s *Service) appendImportedCreated(ctx context.Context, c id.Conversation, control *chatv1.Control, ms int64) error {
	conv := s.conversation(c)
	conv.changeMu.Lock()
	defer conv.changeMu.Unlock()
	for {
		st, err := s.loadState(ctx, conv)
		if err != nil || st.access != 0 {
			return err
		}
		seq, err := s.appendControlAs(ctx, conv, st, control, &importedControl{id: importIDs{}.first(uint8(st.kind), c, ms), token: createdToken(c)})
		if err == nil && control.Importing && seq == 1 {
			conv.importAccess = seq
		}
		if !errors.Is(err, timeline.ErrStale) {
			return err
		}
		conv.invalidate()
	}
}

// importedControl is what a control entry of an import has instead of what others get.
type importedControl struct {
	id     id.Message
	token  timeline.Token
	fanout bool
}

// changedMeanwhile makes an import repeat a call if another node has changed the conversation: a member left, or was erased.
func changedMeanwhile(err error) error {
	if errors.Is(err, timeline.ErrStale) {
		return busy(err)
	}
	return err
}

// whileImporting returns how a change by others is stored during an import: those by which members leave, with an id among those of the import. The caller
// holds changeMu.
func (s *Service) whileImporting(ctx context.Context, st *state, c *chatv1.Control) (*importedControl, error) {
	switch c.Action {
	case chatv1.Control_ACTION_LEFT, chatv1.Control_ACTION_REMOVED, chatv1.Control_ACTION_TRANSFERRED, chatv1.Control_ACTION_DISSOLVED:
	default:
		return nil, errImporting
	}
	ids, err := s.lastImported(ctx, st.id)
	if err != nil {
		return nil, err
	}
	return &importedControl{id: ids.next(uint8(st.kind), st.id, ids.ms)}, nil
}

func (s *Service) checkImportTime(ms int64) error {
	if ms < 0 || ms > s.deps.Clock.Now().UnixMilli() {
		return errImportTime
	}
	return nil
}

func isImportKey(key string) bool {
	return key != "" && len(key) <= maxImportKey && isStorableText(key)
}

// importToken is that of an imported entry.
func importToken(c id.Conversation, key string) (t timeline.Token) {
	sum := sha256.Sum256(append(binary.BigEndian.AppendUint64([]byte("import"), uint64(c)), key...))
	copy(t.Sum[:], sum[:])
	return t
}

// importIDs makes the ids of an import, ascending. Live ids of that time came from the generators of the nodes: of another conversation, unless its
// low bits are the same; and so a conversation begins each millisecond at a spin of its own.
type importIDs struct {
	ms   int64
	spin uint16
	some bool
}

func (g importIDs) first(typ uint8, c id.Conversation, ms int64) id.Message {
	return g.next(typ, c, ms)
}

func (g *importIDs) next(typ uint8, c id.Conversation, ms int64) id.Message {
	begin := uint16(id.Hash(uint64(c)) % importSpins)
	switch {
	case !g.some || ms > g.ms:
		g.ms, g.spin, g.some = ms, begin, true
	case g.spin == maxSpin:
		g.ms, g.spin = g.ms+1, begin
	default:
		g.spin++
	}
	return id.MessageOf(g.ms, g.spin, typ, c)
}

// EndImport makes what was imported read for all members, and lets them write. It returns how many messages the conversation has.
func (s *Service) EndImport(ctx context.Context, c id.Conversation) (messages uint64, err error) {
	seq, messages, err := s.endImport(ctx, c)
	if err == nil {
		s.resizeGroupAfter(ctx, c, seq)
	}
	return messages, err
}

func (s *Service) endImport(ctx context.Context, c id.Conversation) (seq, messages uint64, err error) {
	conv := s.conversation(c)
	conv.changeMu.Lock()
	defer conv.changeMu.Unlock()
	st, err := s.loadState(ctx, conv)
	if err == nil && st.importing {
		st, err = s.takeImport(ctx, conv, st)
	}
	if err != nil {
		return 0, 0, err
	}
	tail, err := s.deps.Log.Tail(ctx, logKey(c))
	if err != nil || !st.importing {
		return 0, tail.Counted, err
	}
	ids, err := s.lastImported(ctx, c)
	if err != nil {
		return 0, 0, err
	}
	// First, so that whoever finds an ended import finds it read.
	if err := s.markImported(ctx, st, tail, ids.ms); err != nil {
		return 0, 0, err
	}
	seq, err = s.appendControlAs(ctx, conv, st, &chatv1.Control{Action: chatv1.Control_ACTION_ACCESS}, &importedControl{id: ids.next(uint8(st.kind), c, ids.ms), fanout: true})
	if err != nil {
		conv.invalidate()
	}
	return seq, tail.Counted, changedMeanwhile(err)
}

// markImported moves the cursors of all members to the tail, and gives lists of conversations the time of the last entry, which no fan-out does.
func (s *Service) markImported(ctx context.Context, st *state, tail timeline.Tail, ms int64) error {
	for some := range slices.Chunk(st.activeMembers, maxApplied) {
		err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
			for _, u := range some {
				if err := s.RecordActivity(ctx, tx, u, []Activity{{Conversation: st.id, Ms: ms}}); err != nil {
					return err
				}
				if s.deps.MarkFollowed == nil {
					continue
				}
				if err := s.deps.MarkFollowed(ctx, tx, u, st.id, tail); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if s.deps.Outbox != nil {
		s.deps.Outbox.Wake()
	}
	return nil
}

// lastImported returns the time and the spin of the highest id. It is one of the newest entries, but not always that of the newest: a node that changes the conversation, or takes
// the import over, gives its control entry an id while another node may still append.
func (s *Service) lastImported(ctx context.Context, c id.Conversation) (ids importIDs, err error) {
	entries, err := s.deps.Log.ReadBackward(ctx, logKey(c), 0, maxConcurrentlyImported)
	if err != nil {
		return ids, err
	}
	var highest id.Message
	for _, stored := range entries {
		var e message.Entry
		if err := e.Decode(stored.Payload); err != nil {
			return ids, errors.Join(errCorrupt, err)
		}
		if bytes.Compare(e.ID[:], highest[:]) > 0 {
			highest, ids = e.ID, importIDs{e.ID.Ms(), e.ID.Spin(), true}
		}
	}
	return ids, nil
}

// importKeyOf returns the key with which a group was imported, "" for none.
func importKeyOf(createKey string) string {
	key, ok := strings.CutPrefix(createKey, serviceKey+importService+" ")
	if !ok {
		return ""
	}
	return key
}
