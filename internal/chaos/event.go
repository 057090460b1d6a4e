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

// An operation that ended with Info may have been carried out, or may still be. What begins no operation, as a delivery, is Ok.
const (
	Invoke Type = "invoke"
	Ok     Type = "ok"
	Fail   Type = "fail"
	Info   Type = "info"
)

// What events are about. Of the operations of clients:
const (
	FSend    = "send"    // a message
	FRead    = "read"    // History, to its end
	FJoin    = "join"    // into an open group
	FLeave   = "leave"   // a group
	FKick    = "kick"    // Other, by an admin
	FInvite  = "invite"  // Other, by an admin
	FBlock   = "block"   // Other
	FUnblock = "unblock" // Other
	FMark    = "mark"    // the read cursor forward, to N
	FCursor  = "cursor"  // reads the read cursor, N
	FWrite   = "write"   // the profile's bio, Text
	FProfile = "profile" // reads it
	FProbe   = "probe"   // a cheap call, to see who serves

	FUpload   = "upload"   // sends a file of N bytes, whose sum is Text
	FDownload = "download" // fetches it
)

// Of what clients see:
const (
	FDeliver  = "deliver"  // a device's stream gave an entry
	FReset    = "reset"    // a device was told to begin anew
	FOnline   = "online"   // a device's socket opened (N is 1) or broke
	FPresence = "presence" // Other is seen online (N is 1) or not
)

// Of the end, when all faults are over and all is at rest:
const (
	FLog    = "log"    // an entry of a conversation's whole history, read through Node
	FZero   = "zero"   // an entry of a device's stream, synced from zero
	FUnread = "unread" // N messages that User has not read after Seq, by Node
	FSeen   = "seen"   // Node says that Other is online (N is 1) or not, and so it is (Text is "online") or not
	FFile   = "file"   // fetches a file, as FDownload
	FFault  = "fault"  // Text has begun (Invoke) or ended (Ok)
	FStage  = "stage"  // the run came to Text
)

// Event of a history.
type Event struct {
	// T is the time since the beginning of the run.
	T time.Duration `json:"t"`
	// Op pairs the beginning of an operation with its end; 0 where there is none.
	Op   uint64 `json:"op,omitempty"`
	Proc string `json:"proc,omitempty"`
	Type Type   `json:"type"`
	F    string `json:"f"`
	// User who acts, or whose device it is; of an entry, From is its sender.
	User uint64 `json:"user,omitempty"`
	From uint64 `json:"from,omitempty"`
	// Other user whom it is done to.
	Other uint64 `json:"other,omitempty"`
	Conv  uint64 `json:"conv,omitempty"`
	Seq   uint64 `json:"seq,omitempty"`
	ID    string `json:"id,omitempty"`
	// Text of a message, which is unique in a run.
	Text string `json:"text,omitempty"`
	N    uint64 `json:"n,omitempty"`
	// TimeMs of an entry, as the server gave it.
	TimeMs int64 `json:"time_ms,omitempty"`
	// Control and Users of an entry that is no message.
	Control string   `json:"control,omitempty"`
	Users   []uint64 `json:"users,omitempty"`
	Node    string   `json:"node,omitempty"`
	Epoch   uint32   `json:"epoch,omitempty"`
	Err     string   `json:"err,omitempty"`
}

// mostEvents of a run are kept in memory, some 200 bytes each. When they are reached the run goes over to its end.
const mostEvents = 4_000_000

// Recorder keeps what happens, in order, and writes it to a file as JSON, a line for each event. All methods may be called from
// many goroutines.
type Recorder struct {
	start time.Time
	full  chan struct{} // closed at mostEvents

	mu     sync.Mutex // guards all below
	events []Event
	ops    uint64
	file   *os.File
	buffer *bufio.Writer
	lines  *json.Encoder
	failed error
}

// NewRecorder makes a recorder that writes to a new file at path; with an empty one it writes nothing.
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

// Note records an event that is over as it begins.
func (r *Recorder) Note(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.Type == "" {
		e.Type = Ok
	}
	r.add(e)
}

// Begin records the beginning of an operation, before it leaves the client.
func (r *Recorder) Begin(e Event) Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ops++
	e.Op, e.Type = r.ops, Invoke
	return r.add(e)
}

// End records how an operation ended, after the client knew. e is what Begin gave, with what the answer added.
func (r *Recorder) End(e Event, how Type) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.Type = how
	r.add(e)
}

// add keeps an event. The caller holds mu.
func (r *Recorder) add(e Event) Event {
	e.T = time.Since(r.start)
	if len(r.events) == mostEvents {
		close(r.full)
	}
	r.events = append(r.events, e) // what comes while the run ends is kept as well
	if err := r.lines.Encode(e); err != nil && r.failed == nil {
		r.failed = err
	}
	return e
}

// Since tells how long the run has gone on.
func (r *Recorder) Since() time.Duration { return time.Since(r.start) }

// Full is closed when the run has become too long to be checked in memory.
func (r *Recorder) Full() <-chan struct{} { return r.full }

// Count gives how many events there are.
func (r *Recorder) Count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.events)
}

// Close writes the file to its end, and gives all events. Nothing is recorded after it.
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

// ReadHistory reads what a Recorder wrote.
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

// each shows all events so far, in order. Nothing is recorded meanwhile, so that show is to be quick.
func (r *Recorder) each(show func(*Event)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.events {
		show(&r.events[i])
	}
}
