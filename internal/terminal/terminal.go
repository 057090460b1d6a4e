// Package terminal is rialto chat: a client for people who live in a terminal, and for scripts. With a keyboard, what is typed
// stays on the last row while lines come in above it; in a pipe, lines are read and written. What must be remembered (session,
// position, unsent messages) is kept in a file.
package terminal

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	rialto "github.com/rialto-im/rialto/sdk/go"
	"golang.org/x/term"
)

// options of a run.
type options struct {
	url, handle, state string
	register, code     bool
}

// Main is rialto chat. It exits 0 when the user leaves, 1 after an error, 2 for bad flags.
func Main(args []string, in io.Reader, out, errOut io.Writer) int {
	var o options
	fs := flag.NewFlagSet("rialto chat", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&o.url, "url", "http://127.0.0.1:7070", "the deployment's `URL`")
	fs.StringVar(&o.handle, "handle", "", "your `handle`; asked for where it is not given and no session is kept")
	fs.BoolVar(&o.register, "register", false, "make an account")
	fs.BoolVar(&o.code, "code", false, "log in by a code that is sent to you, where the deployment can, in place of the password")
	fs.StringVar(&o.state, "state", "", "`file` that keeps session, position and unsent messages; default: one for each server and handle, in your configuration directory")
	err := fs.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(out, "Usage: rialto chat [flags]\n\nFlags:\n")
		fs.SetOutput(out)
		fs.PrintDefaults()
		fmt.Fprint(out, "\n", help(), "\nExit codes: 0 when you leave, 1 after a failure, 2 for flags that it does not know.\n")
		return 0
	}
	if err == nil && fs.NArg() > 0 {
		err = fmt.Errorf("it takes no argument %q", fs.Arg(0))
	}
	if err != nil {
		fmt.Fprintf(errOut, "rialto chat: %v; rialto chat --help lists the flags\n", err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	context.AfterFunc(ctx, stop) // a second one ends the process
	if err := start(ctx, o, in, out); err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, io.EOF) {
		fmt.Fprintln(errOut, "rialto chat:", explain(err))
		return 1
	}
	return 0
}

// start chooses the console, and gives the terminal back as it was.
func start(ctx context.Context, o options, in io.Reader, out io.Writer) error {
	s := newScreen()
	s.console = &pipe{in: bufio.NewReader(in), out: out}
	from, isFile := in.(*os.File)
	to, isFileToo := out.(*os.File)
	if isFile && isFileToo && term.IsTerminal(int(from.Fd())) && term.IsTerminal(int(to.Fd())) {
		was, err := term.MakeRaw(int(from.Fd()))
		if err != nil {
			return err
		}
		fmt.Fprint(out, "\x1b[?2004h") // what is pasted is marked
		defer func() {
			fmt.Fprint(out, "\r\x1b[2K\x1b[?2004l")
			_ = term.Restore(int(from.Fd()), was) // nothing is left to do about it
		}()
		s.keyed = true
		s.console = newKeyboard(in, out, func() int {
			columns, _, err := term.GetSize(int(to.Fd()))
			if err != nil || columns < 20 {
				return 80
			}
			return columns
		}, s.pressed)
	}
	return s.run(ctx, o)
}

// screen is one run of the terminal.
type screen struct {
	console console
	keyed   bool   // console is a keyboard
	begun   string // lines of a text that goes on; used by obey alone
	client  *rialto.Client

	turn sync.Mutex // held while a page of a chat, or an event, goes to the screen: each message is on it once. Taken before mu

	mu        sync.Mutex // guards all below
	open      *chatv1.Conversation
	shown     uint64 // highest seq of the open chat that is on the screen
	oldest    uint64 // lowest one
	mine      uint64 // highest own one
	delivered uint64 // of the peer, as far as the screen tells
	read      uint64
	day       string // of the last message on the screen
	list      []uint64
	chats     map[uint64]*chatv1.Conversation
	before    map[uint64]uint64 // last seq of each chat when the list was first read: unread, but not new
	people    map[uint64]person
	relations map[uint64]*chatv1.Relation
	sessions  []uint64
	present   map[uint64]bool // who is online, of those that are watched
	begunWell bool            // the lists were read
	online    bool
	wasOnline bool
	typed     time.Time            // when the others were last told
	typing    map[uint64]time.Time // by user, when it was last shown
}

type person struct{ handle, name string }

func newScreen() *screen {
	return &screen{chats: map[uint64]*chatv1.Conversation{}, before: map[uint64]uint64{}, people: map[uint64]person{},
		relations: map[uint64]*chatv1.Relation{}, present: map[uint64]bool{}, typing: map[uint64]time.Time{}}
}

func (s *screen) say(format string, args ...any) { s.console.Say(fmt.Sprintf(format, args...)) }

func (s *screen) run(ctx context.Context, o options) error {
	keep, err := s.openState(&o)
	if err != nil {
		return err
	}
	defer keep.Close()
	events := make(chan rialto.Event, 256)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.client, err = rialto.New(rialto.Config{URL: o.url, Name: "Terminal", Type: "terminal", Store: rialto.NewFileStore(o.state), Handler: func(e rialto.Event) {
		select {
		case events <- e:
		case <-ctx.Done():
		}
	}})
	if err != nil {
		return err
	}
	if err := s.signIn(ctx, o); err != nil {
		return err
	}
	s.say("Signed in. /help lists the commands.")
	if err := s.begin(ctx); err != nil {
		s.say("! %s", explain(err))
	}
	s.console.Prompt("> ")
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	ended := make(chan error, 1)
	group.Go(func() { ended <- s.client.Run(ctx) })
	group.Go(func() {
		for {
			select {
			case e := <-events:
				s.turn.Lock()
				s.show(ctx, e)
				s.turn.Unlock()
			case <-ctx.Done():
				return
			}
		}
	})
	return s.obey(ctx, ended)
}

// obey carries out what is typed, until the user leaves or the session ends.
func (s *screen) obey(ctx context.Context, ended <-chan error) error {
	lines, next := make(chan string), make(chan struct{})
	go func() { // ends with the input, or with the process: a read of a terminal cannot be taken back
		defer close(lines)
		for {
			line, err := s.console.Line()
			if err != nil {
				return
			}
			select {
			case lines <- line:
			case <-ctx.Done():
				return
			}
			select {
			case <-next: // a command may ask, and then its answer is not a line of ours
			case <-ctx.Done():
				return
			}
		}
	}()
	for {
		select {
		case line, ok := <-lines:
			if !ok {
				return s.finish(ctx)
			}
			err := s.do(ctx, line)
			if errors.Is(err, errLeave) {
				return nil
			}
			if err != nil {
				s.say("! %s", explain(err))
			}
			select {
			case next <- struct{}{}:
			case <-ctx.Done():
			}
		case err := <-ended:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// finishTime that what was typed last has to go out when the user leaves; beyond it, it goes out at the next start.
const finishTime = 10 * time.Second

// finish lets what was typed last go out.
func (s *screen) finish(ctx context.Context) error {
	s.mu.Lock()
	online := s.online || !s.wasOnline
	s.mu.Unlock()
	if !online {
		s.say("* offline: what is not sent yet goes out when you come back")
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, finishTime)
	defer cancel()
	return s.client.Flush(ctx)
}
