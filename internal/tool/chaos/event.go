package chaos

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

// Type of an event: the beginning of an operation, or how it ended.
type Type string

// An operation with the outcome Info may have been executed, or may still be executed. Events that are not operations, such as deliveries, are
// Ok.
const (
	Invoke Type = "invoke"
	Ok     Type = "ok"
	Fail   Type = "fail"
	Info   Type = "info"
)

// Kinds of events. Operations of clients:
const (
	FSend    = "send"    // sends the message Text
	FRead    = "read"    // reads the newest entry of a history
	FJoin    = "join"    // joins an open group
	FLeave   = "leave"   // leaves a group
	FKick    = "kick"    // an admin removes Other
	FInvite  = "invite"  // an admin invites Other
	FBlock   = "block"   // blocks Other
	FUnblock = "unblock" // unblocks Other
	FMark    = "mark"    // moves the read cursor to N
	FCursor  = "cursor"  // reads the read cursor, N
	FWrite   = "write"   // writes Text to the profile's bio
	FProfile = "profile" // reads the profile's bio
	FProbe   = "probe"   // a cheap call, to see which nodes serve

	FUpload   = "upload"   // sends a file of N bytes with the checksum Text
	FDownload = "download" // fetches it

	FWord   = "word"   // sends the message Text, which may be changed later
	FEdit   = "edit"   // makes Becomes of the message Text
	FRecall = "recall" // takes the message Text back

	FPublish = "publish" // publishes the post Text, whose id is Other
	FDelete  = "delete"  // deletes the post Other
	FLike    = "like"    // likes the post Other
	FUnlike  = "unlike"  // does not like the post Other any more
	FPage    = "page"    // reads the first page of the home timeline: Users are the ids of its posts, N is the next of the page
)

// Observations of clients:
const (
	FDeliver  = "deliver"  // a device's stream delivered an entry
	FReset    = "reset"    // a device was reset
	FOnline   = "online"   // a device's socket opened (N is 1) or broke
	FPresence = "presence" // Other is seen online (N is 1) or not
	FShown    = "shown"    // a read that began at N, in nanoseconds, returned the message Text, whose edit or recall had begun
)

// Reads at the end, after the faults:
const (
	FLog    = "log"    // an entry of a conversation's complete history, read from Node
	FZero   = "zero"   // an entry of a device's stream, synced from zero
	FUnread = "unread" // User has N unread messages after Seq, according to Node
	FSeen   = "seen"   // Node says whether Other is online (N is 1); Text is the truth, "online" or not
	FFile   = "file"   // fetches a file, as FDownload
	FLikers = "likers" // Users like the post Other, which has N likes according to Node
	FStays  = "stays"  // the message Text is in the history of those that were changed
	FFault  = "fault"  // fault Text began (Invoke) or ended (Ok)
	FStage  = "stage"  // the run reached stage Text
)

// Event of a history.
type Event struct {
	// T is the time since the beginning of the run.
	T time.Duration `json:"t"`
	// Op pairs the beginning of an operation with its end; 0 if the event is not an operation.
	Op   uint64 `json:"op,omitempty"`
	Proc string `json:"proc,omitempty"`
	Type Type   `json:"type"`
	F    string `json:"f"`
	// User who acts, or who owns the device. From is the sender of an entry.
	User uint64 `json:"user,omitempty"`
	From uint64 `json:"from,omitempty"`
	// Other is the user, or the post, that is affected.
	Other uint64 `json:"other,omitempty"`
	Conv  uint64 `json:"conv,omitempty"`
	Seq   uint64 `json:"seq,omitempty"`
	ID    string `json:"id,omitempty"`
	// Text of a message; it is unique in a run.
	Text string `json:"text,omitempty"`
	// Becomes is the text after an edit.
	Becomes string `json:"becomes,omitempty"`
	N       uint64 `json:"n,omitempty"`
	// TimeMs of an entry, as the server returned it.
	TimeMs int64 `json:"time_ms,omitempty"`
	// Control and Users of a control entry. Users are also those of other lists, see the kinds.
	Control string   `json:"control,omitempty"`
	Users   []uint64 `json:"users,omitempty"`
	Node    string   `json:"node,omitempty"`
	Epoch   uint32   `json:"epoch,omitempty"`
	Err     string   `json:"err,omitempty"`
}

// maxEvents is the number of events that are kept in memory, some 200 bytes each. When it is reached, the fault phase ends.
const maxEvents = 4_000_000

// Recorder keeps events in order, and writes them to a file as JSON, one line for each. It is safe for concurrent use.
type Recorder struct {
	start time.Time
	full  chan struct{} // closed when there are maxEvents

	mu     sync.Mutex // guards the fields below
	events []Event
	ops    uint64
	file   *os.File
	buffer *bufio.Writer
	lines  *json.Encoder
	failed error
}

// NewRecorder returns a recorder that writes to a new file at path, or to no file if path is empty.
func NewRecorder(path string) (*Recorder, error) {
	r := &Recorder{start: time.Now(), full: make(chan struct{})}
	if path == "" {
		r.lines = json.NewEncoder(io.Discard)
		return r, nil
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	r.file, r.buffer = f, bufio.NewWriterSize(f, 1<<20)
	r.lines = json.NewEncoder(r.buffer)
	return r, nil
}

// Note records an event that is not an operation.
func (r *Recorder) Note(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.Type == "" {
		e.Type = Ok
	}
	r.add(e)
}

// Begin records the beginning of an operation, before the client sends it.
func (r *Recorder) Begin(e Event) Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ops++
	e.Op, e.Type = r.ops, Invoke
	return r.add(e)
}

// End records the outcome of an operation, after the client received it. e is the result of Begin, with fields of the answer added.
func (r *Recorder) End(e Event, how Type) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.Type = how
	r.add(e)
}

// add keeps an event. The caller holds mu.
func (r *Recorder) add(e Event) Event {
	e.T = time.Since(r.start)
	if len(r.events) == maxEvents {
		close(r.full)
	}
	r.events = append(r.events, e) // events are kept even while the run ends
	if err := r.lines.Encode(e); err != nil && r.failed == nil {
		r.failed = err
	}
	return e
}

// Since returns the time since the beginning of the run.
func (r *Recorder) Since() time.Duration { return time.Since(r.start) }

// Full is closed when the run has more events than can be checked in memory.
func (r *Recorder) Full() <-chan struct{} { return r.full }

// Count returns the number of events.
func (r *Recorder) Count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.events)
}

// Close flushes the file and returns all events. Nothing may be recorded afterwards.
func (r *Recorder) Close() ([]Event, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := r.failed
	if r.file != nil {
		err = errors.Join(err, r.buffer.Flush(), r.file.Close())
		r.file = nil
	}
	return r.events, err
}

// ReadHistory reads the file of a Recorder.
func ReadHistory(in io.Reader) (events []Event, err error) {
	lines := json.NewDecoder(in)
	for {
		var e Event
		if err := lines.Decode(&e); errors.Is(err, io.EOF) {
			return events, nil
		} else if err != nil {
			return nil, err
		}
		events = append(events, e)
	}
}

// each calls show for all events so far, in order. It blocks recording, so show must be fast.
func (r *Recorder) each(show func(*Event)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.events {
		show(&r.events[i])
	}
}
