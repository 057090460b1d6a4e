// Package importer loads a directory in the interchange format into a running deployment, and converts the exports of other chat servers to that format. It
// is a client of InterchangeService.
//
// A load is resumable: after each batch it stores its position in a file of the directory. A batch that was interrupted is sent again, and the server
// stores nothing twice.
package importer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rialto-im/rialto/internal/base/progress"
	"github.com/rialto-im/rialto/internal/tool/apiclient"
	"github.com/rialto-im/rialto/internal/tool/interchangefile"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
	"golang.org/x/time/rate"
	"google.golang.org/protobuf/proto"
)

// Options of Load.
type Options struct {
	// Dir is the directory in the interchange format.
	Dir string
	// Server has the deployment.
	Server *Server
	// Rate of entries a second; 0 is 500.
	Rate int
	// Prefix of external ids of users, such as slack:.
	Prefix  string
	Printer *progress.Printer
	// Progressed is called after each batch, for tests; nil: nothing. An error ends the load.
	Progressed func() error
}

// ReportFile of the directory has what a load did.
const ReportFile = "import-report.json"

const (
	stateFile   = "import-state.json"
	defaultRate = 500
	batchSize   = 100       // entries
	batchBytes  = 256 << 10 // of contents
	usersAtOnce = 100
	maxReasons  = 1000 // skipped things that a report lists
)

// state is where a load is.
type state struct {
	Archive      string `json:"archive"`
	Server       string `json:"server"`
	Users        int64  `json:"users"`     // lines of users.jsonl that are done
	Relations    int64  `json:"relations"` // lines of relations.jsonl that are done
	Videos       int64  `json:"videos"`    // lines of videos.jsonl that are done, and so for those that follow
	Posts        int64  `json:"posts"`
	Comments     int64  `json:"comments"`
	Likes        int64  `json:"likes"`
	VideoKey     string `json:"video_key"`    // the video whose file was uploaded last
	VideoUpload  uint64 `json:"video_upload"` // of that file
	Conversation int64  `json:"conversation"` // lines of conversations.jsonl that are done
	Offset       int64  `json:"offset"`       // of messages.jsonl
	Entries      int64  `json:"entries"`      // of the present conversation that are done
	Stored       int64  `json:"stored"`       // messages of the present conversation
	Ambiguous    int64  `json:"ambiguous"`    // of these, those that the server had, and that an attempt before may have stored
	Done         int64  `json:"done"`         // entries of all conversations
	Sending      bool   `json:"sending"`      // the next batch: the server may have it
	Refused      string `json:"refused"`      // why the server has not created the present conversation
	Report       Report `json:"report"`
}

// loader is a load in progress.
type loader struct {
	Options
	reader        *interchangefile.Reader
	at            state
	users         map[string]uint64
	uploaded      map[uploadedFile]uint64
	conversations []interchangefile.Conversation
	byID          map[string]int
	entries       *interchangefile.Entries
	pending       *interchangefile.Entry // read, and of the next batch
	pendingEnd    int64
	limit         *rate.Limiter
	resumed       bool // the next batch may have been stored by an earlier load
	step          *progress.Step
	total         int64
}

// Load loads a directory, and returns what it did. An error is one that ends it before its end; a later call continues.
func Load(ctx context.Context, o Options) (*Report, error) {
	if o.Rate <= 0 {
		o.Rate = defaultRate
	}
	reader, err := interchangefile.Open(o.Dir)
	if err != nil {
		return nil, err
	}
	l := &loader{Options: o, reader: reader, users: map[string]uint64{}, uploaded: map[uploadedFile]uint64{}, byID: map[string]int{}, limit: rate.NewLimiter(rate.Limit(o.Rate), max(o.Rate, batchSize))}
	if err := l.readState(); err != nil {
		return nil, err
	}
	if err := l.loadUsers(ctx); err != nil {
		return nil, err
	}
	if err := l.loadRelations(ctx); err != nil {
		return nil, err
	}
	for _, load := range []func(context.Context) error{l.loadVideos, l.loadPosts, l.loadComments, l.loadLikes, l.loadConversations} {
		if err := load(ctx); err != nil {
			return nil, err
		}
	}
	l.compare()
	report := &l.at.Report
	report.Mismatches = append(report.Mismatches, outOfOrder(report.Skipped)...)
	return report, interchangefile.WriteJSON(filepath.Join(o.Dir, ReportFile), report)
}

// outOfOrder says what the server refused because of its time. Directories have the order of the times, so that it is an error of the load and not of the entry.
func outOfOrder(skipped map[string]int64) (mismatches []string) {
	for _, reason := range slices.Sorted(maps.Keys(skipped)) {
		if kind, found := strings.CutSuffix(reason, ": time_order"); found {
			mismatches = append(mismatches, fmt.Sprintf("%s: %d were refused because the server has entries with later times in their conversations", kind, skipped[reason]))
		}
	}
	return mismatches
}

func (l *loader) readState() error {
	fresh := state{Archive: l.reader.ID(), Server: l.Server.URL(), Report: Report{Source: l.reader.Source(), Converted: l.reader.Manifest.Skipped, Skipped: map[string]int64{}, Altered: map[string]int64{}}}
	b, err := os.ReadFile(filepath.Join(l.Dir, stateFile))
	if errors.Is(err, fs.ErrNotExist) {
		l.at = fresh
		return nil
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, &l.at); err != nil {
		return fmt.Errorf("%s: %w; remove it to begin again, which stores nothing twice", stateFile, err)
	}
	if l.at.Archive != fresh.Archive {
		return fmt.Errorf("%s is of an import of another directory; remove it to begin again", stateFile)
	}
	if l.at.Server != fresh.Server {
		return fmt.Errorf("%s is of an import to %s; remove it to begin one to %s", stateFile, l.at.Server, fresh.Server)
	}
	if l.at.Report.Skipped == nil {
		l.at.Report.Skipped = fresh.Report.Skipped
	}
	if l.at.Report.Altered == nil { // it is left out where it is empty
		l.at.Report.Altered = fresh.Report.Altered
	}
	l.resumed = l.at.Sending
	return nil
}

// save writes where the load is, after a batch.
func (l *loader) save() error {
	if err := interchangefile.WriteJSON(filepath.Join(l.Dir, stateFile), &l.at); err != nil {
		return err
	}
	if l.Progressed != nil {
		return l.Progressed()
	}
	return nil
}

// noteSending writes that the next batch is being sent: after an interruption, the server may have it.
func (l *loader) noteSending() error {
	l.at.Sending = true
	return interchangefile.WriteJSON(filepath.Join(l.Dir, stateFile), &l.at)
}

// external returns the external id of a user: the prefix and the id in the source.
func (l *loader) external(id string) string { return l.Prefix + id }

func (l *loader) loadConversations(ctx context.Context) (err error) {
	if err := l.reader.Conversations(func(c *interchangefile.Conversation) error {
		l.byID[c.ID] = len(l.conversations)
		l.conversations = append(l.conversations, *c)
		return nil
	}); err != nil {
		return err
	}
	if l.entries, err = l.reader.Entries(l.at.Offset); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.entries.Close()) }()
	l.step, l.total = l.Printer.Step("messages"), max(l.reader.Manifest.Counts.Entries, 1)
	defer l.step.End()
	for l.at.Conversation < int64(len(l.conversations)) {
		if err := l.conversation(ctx, &l.conversations[l.at.Conversation]); err != nil {
			return err
		}
		l.at.Conversation++
		l.at.Entries, l.at.Stored, l.at.Ambiguous, l.at.Refused = 0, 0, 0, ""
		if err := l.save(); err != nil {
			return err
		}
	}
	return nil
}

// open creates a conversation, or finds it.
func (l *loader) open(ctx context.Context, c *interchangefile.Conversation) (*operationv1.ImportConversationResponse, error) {
	r := &operationv1.ImportConversationRequest{Key: c.ID, Title: c.Title, Direct: c.Kind == interchangefile.Direct, Channel: c.Kind == interchangefile.Channel,
		JoinPolicy: interchangefile.PolicyToProto(c.JoinPolicy), TimeMs: c.CreatedMs}
	var ok bool
	if r.Owner, ok = l.users[c.Owner]; !ok {
		return nil, &apiclient.Error{Reason: "no_user", Message: "its owner was not imported: " + c.Owner}
	}
	for _, m := range c.Members {
		if u, ok := l.users[m]; ok {
			r.Members = append(r.Members, u)
		}
	}
	if c.Kind == interchangefile.Thread {
		at, ok := l.byID[c.Parent]
		if !ok || l.conversations[at].Kind == interchangefile.Thread {
			return nil, &apiclient.Error{Reason: "no_parent", Message: "the conversation of the thread is unknown: " + c.Parent}
		}
		parent, err := l.open(ctx, &l.conversations[at])
		if err != nil {
			return nil, err
		}
		r.Parent, r.Root, r.Key, r.Title = parent.Conversation, c.Root, "", ""
	}
	return l.Server.importConversation(ctx, r)
}

func (l *loader) conversation(ctx context.Context, c *interchangefile.Conversation) error {
	opened, err := l.open(ctx, c)
	if reason := refusal(err); reason != nil {
		if l.at.Refused == "" { // else counted before an interruption
			l.skip("conversation", c.ID, reason.Reason, reason.Message)
			l.memberships(c, reason.Reason)
		}
		l.at.Refused = reason.Reason
	} else if err != nil {
		return err
	}
	for l.at.Entries < c.Entries {
		if err := l.batch(ctx, c, opened.GetConversation(), opened.GetEnded()); err != nil {
			return err
		}
	}
	if l.at.Refused != "" {
		return nil
	}
	ended, err := l.Server.endImport(ctx, &operationv1.EndImportRequest{Conversation: opened.Conversation})
	if err != nil {
		return err
	}
	report := &l.at.Report
	report.Imported.Conversations++
	l.memberships(c, "")
	twice := l.at.Stored - int64(ended.Messages)
	if twice > 0 && twice <= l.at.Ambiguous {
		report.Imported.Messages -= twice
		report.Imported.Entries -= twice
		report.Skipped["message: duplicate_id"] += twice
		l.at.Stored -= twice
	}
	// Members may have written since an import that ended before.
	if n := int64(ended.Messages); n < l.at.Stored || n > l.at.Stored && !opened.Ended {
		report.Mismatches = append(report.Mismatches, fmt.Sprintf("conversation %s: the server has %d messages, and %d were imported", c.ID, ended.Messages, l.at.Stored))
	}
	return nil
}

// next reads the next entry of a conversation.
func (l *loader) next(c *interchangefile.Conversation) (*interchangefile.Entry, int64, error) {
	if e := l.pending; e != nil {
		l.pending = nil
		return e, l.pendingEnd, nil
	}
	e := &interchangefile.Entry{}
	err := l.entries.Decode(e)
	if errors.Is(err, io.EOF) || err == nil && e.Conversation != c.ID {
		err = l.entries.Fault(fmt.Errorf("conversation %s has fewer entries than conversations.jsonl says", c.ID))
	}
	return e, l.entries.Offset(), err
}

// batch sends some entries of a conversation, and saves where the load is then.
func (l *loader) batch(ctx context.Context, c *interchangefile.Conversation, conversation uint64, ended bool) error {
	request := &operationv1.ImportEntriesRequest{Conversation: conversation}
	var sent []*interchangefile.Entry
	size, end, read := 0, l.at.Offset, int64(0)
	for len(sent) < batchSize && l.at.Entries+read < c.Entries {
		e, offset, err := l.next(c)
		if err != nil {
			return err
		}
		if l.at.Refused != "" || ended {
			l.account(e, l.at.Refused, "its conversation was refused")
			read, end = read+1, offset
			continue
		}
		entry, err := l.convert(ctx, e)
		if reason := refusal(err); reason != nil {
			l.account(e, reason.Reason, reason.Message)
			read, end = read+1, offset
			continue
		}
		if err != nil {
			return err
		}
		n := proto.Size(entry)
		if size += n; size > batchBytes && len(sent) > 0 {
			l.pending, l.pendingEnd = e, offset
			break
		}
		request.Entries, sent = append(request.Entries, entry), append(sent, e)
		read, end = read+1, offset
	}
	if len(sent) > 0 {
		if err := l.limit.WaitN(ctx, min(len(sent), l.limit.Burst())); err != nil {
			return err
		}
		if err := l.noteSending(); err != nil {
			return err
		}
		results, repeated, err := l.Server.importEntries(ctx, request)
		if err != nil {
			return err
		}
		if len(results.Results) != len(sent) {
			return fmt.Errorf("the server answered %d of %d entries", len(results.Results), len(sent))
		}
		for i, r := range results.Results {
			switch {
			case !r.Duplicate:
			case !l.resumed && !repeated:
				r.Reason, r.Message = "duplicate_id", "an entry with this id was imported before"
			case sent[i].IsMessage(): // stored by the attempt before, or an id that comes twice: the end shows it
				l.at.Ambiguous++
			}
			l.account(sent[i], r.Reason, r.Message)
			if r.LostReply && r.Reason == "" {
				l.at.Report.Altered["message: reply"]++
			}
		}
	}
	l.resumed, l.at.Sending = false, false
	l.at.Entries, l.at.Offset, l.at.Done = l.at.Entries+read, end, l.at.Done+read
	l.step.At(float64(l.at.Done)/float64(l.total), fmt.Sprintf("%d of %d conversations", l.at.Conversation, len(l.conversations)))
	return l.save()
}

// convert makes the request of an entry, and uploads its files.
func (l *loader) convert(ctx context.Context, e *interchangefile.Entry) (*operationv1.ImportEntry, error) {
	out := &operationv1.ImportEntry{Key: e.ID, TimeMs: e.TimeMs, Target: e.Target}
	var err error
	if e.Sender != "" {
		if out.Sender, err = l.user(e.Sender); err != nil {
			return nil, err
		}
	}
	out.Content, err = e.ToProto(l.user, l.uploadOf(ctx, out.Sender))
	return out, badEntry(err)
}

// badEntry makes the error of what has no valid content a refusal.
func badEntry(err error) error {
	if err != nil && refusal(err) == nil && errors.Is(err, interchangefile.ErrBadEntry) {
		err = &apiclient.Error{Reason: "bad_entry", Message: err.Error()}
	}
	return err
}
