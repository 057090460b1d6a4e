// Package importer loads a directory in the interchange format into a running deployment, and converts the exports of other chat servers to that format. It
// is a client of InterchangeService.
//
// A load is resumable: after each batch it writes where it is to a file of the directory. A batch that was interrupted is sent again, and the server
// stores nothing twice.
package importer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rialto-im/rialto/internal/base/progress"
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

// Report is what a load did. Each count of the source is that of what was imported and what was skipped, or Mismatches says so.
type Report struct {
	Source   string                 `json:"source"`
	Imported interchangefile.Counts `json:"imported"`
	// Converted counts what the converter left out, by kind; it is listed in skipped.jsonl.
	Converted map[string]int64 `json:"skipped_by_converter"`
	// Skipped counts what the server refused, by kind and reason.
	Skipped map[string]int64 `json:"skipped_by_server"`
	// Reasons are the first thousand of them.
	Reasons []interchangefile.Skipped `json:"reasons,omitempty"`
	// Altered counts messages that lack something, such as a reply whose target was not imported.
	Altered    map[string]int64 `json:"altered,omitempty"`
	Mismatches []string         `json:"mismatches,omitempty"`
}

// state is where a load is.
type state struct {
	Archive      string `json:"archive"`
	Server       string `json:"server"`
	Users        int64  `json:"users"`        // lines of users.jsonl that are done
	Conversation int64  `json:"conversation"` // lines of conversations.jsonl that are done
	Offset       int64  `json:"offset"`       // of messages.jsonl
	Entries      int64  `json:"entries"`      // of the present conversation that are done
	Stored       int64  `json:"stored"`       // messages of the present conversation
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
	l := &loader{Options: o, reader: reader, users: map[string]uint64{}, byID: map[string]int{}, limit: rate.NewLimiter(rate.Limit(o.Rate), max(o.Rate, batchSize))}
	if err := l.readState(); err != nil {
		return nil, err
	}
	if err := l.loadUsers(ctx); err != nil {
		return nil, err
	}
	if err := l.loadConversations(ctx); err != nil {
		return nil, err
	}
	l.compare()
	report := &l.at.Report
	return report, interchangefile.WriteJSON(filepath.Join(o.Dir, ReportFile), report)
}

func (l *loader) readState() error {
	fresh := state{Archive: l.reader.ID(), Server: l.Server.URL, Report: Report{Source: l.reader.Source(), Converted: l.reader.Manifest.Skipped, Skipped: map[string]int64{}, Altered: map[string]int64{}}}
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
	if l.at.Archive != fresh.Archive || l.at.Server != fresh.Server {
		return fmt.Errorf("%s is of an import to %s; remove it to begin one to %s", stateFile, l.at.Server, fresh.Server)
	}
	if l.at.Report.Skipped == nil || l.at.Report.Altered == nil {
		l.at.Report.Skipped, l.at.Report.Altered = fresh.Report.Skipped, fresh.Report.Altered
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

// skip records what the server refused.
func (l *loader) skip(kind, where, reason, message string) {
	r := &l.at.Report
	r.Skipped[kind+": "+reason]++
	if len(r.Reasons) < maxReasons {
		r.Reasons = append(r.Reasons, interchangefile.Skipped{Kind: kind, Where: where, Reason: reason + ": " + message})
	}
}

// external returns the external id of a user: that of an export of this product is the whole of it.
func (l *loader) external(id string) string { return l.Prefix + id }

// loadUsers creates the users. All are asked for again after an interruption, since their ids are needed; that changes nothing.
func (l *loader) loadUsers(ctx context.Context) error {
	step := l.Printer.Step("users")
	defer step.End()
	var batch []*interchangefile.User
	n := int64(0)
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		request := &operationv1.ImportUsersRequest{}
		for _, u := range batch {
			request.Users = append(request.Users, &operationv1.InterchangeUser{ExternalId: l.external(u.ID), Handle: u.Handle, DisplayName: u.Name, Bio: u.Bio})
		}
		results, err := l.Server.importUsers(ctx, request)
		if err != nil {
			return err
		}
		for i, r := range results.Results {
			u := batch[i]
			if r.User == 0 && r.Reason == "bad_name" { // a name that this server does not accept must not cost the user's messages
				if r, err = l.importNameless(ctx, u); err != nil {
					return err
				}
			}
			if n++; r.User != 0 {
				l.users[u.ID] = r.User
			}
			if n <= l.at.Users {
				continue // counted before
			}
			if l.at.Users = n; r.User == 0 {
				l.skip("user", u.ID, r.Reason, r.Message)
				continue
			}
			l.at.Report.Imported.Users++
			if err := l.avatar(ctx, u, r.User); err != nil {
				return err
			}
		}
		batch = batch[:0]
		step.At(float64(n)/float64(max(l.reader.Manifest.Counts.Users, 1)), fmt.Sprintf("%d of %d", n, l.reader.Manifest.Counts.Users))
		return l.save()
	}
	err := l.reader.Users(func(u *interchangefile.User) error {
		if batch = append(batch, u); len(batch) < usersAtOnce {
			return nil
		}
		return flush()
	})
	if err != nil {
		return err
	}
	return flush()
}

func (l *loader) importNameless(ctx context.Context, u *interchangefile.User) (*operationv1.ImportedUser, error) {
	a, err := l.Server.importUsers(ctx, &operationv1.ImportUsersRequest{Users: []*operationv1.InterchangeUser{{ExternalId: l.external(u.ID), Handle: u.Handle}}})
	if err != nil {
		return nil, err
	}
	l.at.Report.Altered["user: name"]++
	return a.Results[0], nil
}

func (l *loader) avatar(ctx context.Context, u *interchangefile.User, user uint64) error {
	if u.Avatar == "" {
		return nil
	}
	_, err := l.upload(ctx, user, u.Avatar, "avatar", true)
	if reason := refusal(err); reason != nil {
		l.skip("file", u.Avatar, reason.Reason, reason.Message)
		return nil
	}
	return err
}

// upload uploads a file as one of a user.
func (l *loader) upload(ctx context.Context, owner uint64, path, name string, avatar bool) (uint64, error) {
	f, size, err := l.reader.OpenFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, &refused{"no_file", "the file is missing in the directory"}
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if name == "" {
		name = filepath.Base(path)
	}
	return l.Server.upload(ctx, &operationv1.ImportFileRequest{Owner: owner, Name: name, Size: uint64(size)}, f, avatar)
}

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
		l.at.Entries, l.at.Stored, l.at.Refused = 0, 0, ""
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
		return nil, &refused{"no_user", "its owner was not imported: " + c.Owner}
	}
	for _, m := range c.Members {
		if u, ok := l.users[m]; ok {
			r.Members = append(r.Members, u)
		}
	}
	if c.Kind == interchangefile.Thread {
		at, ok := l.byID[c.Parent]
		if !ok || l.conversations[at].Kind == interchangefile.Thread {
			return nil, &refused{"no_parent", "the conversation of the thread is unknown: " + c.Parent}
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
		l.skip("conversation", c.ID, reason.Reason, reason.Message)
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
	if c.Kind != interchangefile.Thread {
		report.Imported.Memberships += int64(len(c.Members))
		if c.Kind != interchangefile.Direct || c.Members[0] != c.Owner {
			report.Imported.Memberships++
		}
	}
	if !opened.Ended && int64(ended.Messages) != l.at.Stored {
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
		results, err := l.Server.importEntries(ctx, request)
		if err != nil {
			return err
		}
		if len(results.Results) != len(sent) {
			return fmt.Errorf("the server answered %d of %d entries", len(results.Results), len(sent))
		}
		for i, r := range results.Results {
			if r.Seq != 0 && r.Duplicate && !l.resumed {
				r.Reason, r.Message = "duplicate_id", "an entry with this id was imported before"
			}
			l.account(sent[i], r.Reason, r.Message)
		}
	}
	l.resumed, l.at.Sending = false, false
	l.at.Entries, l.at.Offset = l.at.Entries+read, end
	l.step.At(float64(l.entries.Line())/float64(l.total), fmt.Sprintf("%d of %d conversations", l.at.Conversation, len(l.conversations)))
	return l.save()
}

// account counts an entry as imported, or as skipped for a reason.
func (l *loader) account(e *interchangefile.Entry, reason, message string) {
	kind := "entry"
	switch {
	case e.IsMessage():
		kind = "message"
	case e.Kind == interchangefile.Reaction:
		kind = "reaction"
	}
	if reason != "" {
		l.skip(kind, e.Conversation+" "+e.ID, reason, message)
		return
	}
	in := &l.at.Report.Imported
	in.Entries++
	switch kind {
	case "message":
		in.Messages++
		l.at.Stored++
		in.Files += int64(len(e.Files))
	case "reaction":
		in.Reactions++
	}
}

// convert makes the request of an entry, and uploads its files.
func (l *loader) convert(ctx context.Context, e *interchangefile.Entry) (*operationv1.ImportEntry, error) {
	out := &operationv1.ImportEntry{Key: e.ID, TimeMs: e.TimeMs, Target: e.Target}
	user := func(id string) (uint64, error) {
		if u, ok := l.users[id]; ok {
			return u, nil
		}
		return 0, &refused{"no_user", "it names a user who was not imported: " + id}
	}
	var err error
	if e.Sender != "" {
		if out.Sender, err = user(e.Sender); err != nil {
			return nil, err
		}
	}
	out.Content, err = e.ToProto(user, func(path, name string) (uint64, error) { return l.upload(ctx, out.Sender, path, name, false) })
	if err != nil && refusal(err) == nil && ctx.Err() == nil && strings.HasPrefix(err.Error(), "a ") {
		err = &refused{"bad_entry", err.Error()}
	}
	return out, err
}

// compare compares the counts of the source with those of what was imported and skipped.
func (l *loader) compare() {
	r, want := &l.at.Report, l.reader.Manifest.Counts
	check := func(what string, imported, in int64, kinds ...string) {
		skipped := int64(0)
		for reason, n := range r.Skipped {
			for _, kind := range kinds {
				if strings.HasPrefix(reason, kind+": ") {
					skipped += n
				}
			}
		}
		if imported+skipped != in {
			r.Mismatches = append(r.Mismatches, fmt.Sprintf("%s: %d in the source, %d imported and %d skipped", what, in, imported, skipped))
		}
	}
	check("users", r.Imported.Users, want.Users, "user")
	check("conversations", r.Imported.Conversations, want.Conversations, "conversation")
	check("messages", r.Imported.Messages, want.Messages, "message")
	check("reactions", r.Imported.Reactions, want.Reactions, "reaction")
	check("entries", r.Imported.Entries, want.Entries, "entry", "message", "reaction")
}
