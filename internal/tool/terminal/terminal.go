// Package terminal implements the command rialto chat: a chat client for the terminal, and for scripts. With a keyboard, the input stays on the last row
// while other lines are printed above it. In a pipe, lines are read and written. The session, the position and unsent messages are stored
// in a file.
package terminal

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	rialto "github.com/rialto-im/rialto/sdk/go"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"golang.org/x/term"
)

// options of a run.
type options struct {
	url, handle, state string
	register, code     bool
}

// Main is rialto chat. It exits 0 when the user quits, 1 after an error, 2 for bad flags.
func Main(args []string, in io.Reader, out, errOut io.Writer) int {
	var o options
	fs := flag.NewFlagSet("rialto chat", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&o.url, "url", "http://127.0.0.1:7070", phrase("the deployment's `URL`"))
	fs.StringVar(&o.handle, "handle", "", phrase("your `handle`; the client asks for it if it is missing and no session is stored"))
	fs.BoolVar(&o.register, "register", false, phrase("create an account"))
	fs.BoolVar(&o.code, "code", false, phrase("log in with a code that is sent to you instead of a password, if the deployment supports it"))
	fs.StringVar(&o.state, "state", "", phrase("`file` for the session, position and unsent messages; default: one for each server and handle, in your configuration directory"))
	err := fs.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(out, phrase("Usage: rialto chat [flags]\n\nFlags:\n"))
		fs.SetOutput(out)
		fs.PrintDefaults()
		fmt.Fprint(out, "\n", help(speaksChinese()), phrase("\nExit codes: 0 when you quit, 1 after a failure, 2 for unknown flags.\n"))
		return 0
	}
	if err == nil && fs.NArg() > 0 {
		err = errorf("unexpected argument %q", fs.Arg(0))
	}
	if err == nil {
		err = checkURL(o.url)
	}
	if err != nil {
		fmt.Fprintf(errOut, "rialto chat: %s; %s\n", explain(err), phrase("rialto chat --help lists the flags"))
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process
	if err := start(ctx, o, in, out); err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, io.EOF) {
		fmt.Fprintln(errOut, "rialto chat:", explain(err))
		return 1
	}
	return 0
}

// checkURL fails for what is no address of a server.
func checkURL(address string) error {
	if u, err := url.Parse(address); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return errorf("--url is the address of a server that begins with http:// or https://, as http://127.0.0.1:7070 or https://chat.example.com, not %q", address)
	}
	return nil
}

// start opens the console, and restores the terminal at the end.
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
		fmt.Fprint(out, "\x1b[?2004h") // enables bracketed paste
		defer func() {
			fmt.Fprint(out, "\r\x1b[2K\x1b[?2004l")
			_ = term.Restore(int(from.Fd()), was) // the process ends anyway
		}()
		s.keyed, s.colours = true, hasColours()
		k := newKeyboard(in, out, func() int {
			columns, _, err := term.GetSize(int(to.Fd()))
			if err != nil || columns < 20 {
				return 80
			}
			return columns
		}, s.pressed)
		k.complete = s.complete
		s.console = k
	}
	return s.run(ctx, o)
}

// screen is one run of the client.
type screen struct {
	console console
	keyed   bool   // console is a keyboard
	colours bool   // console shows colours
	begun   string // earlier lines of a multi-line text; used while a line is executed or typed, which alternate
	client  *rialto.Client
	url     string // of the deployment

	turn sync.Mutex // held while a page or an event is printed, so that each message is printed once. Taken before mu

	draftTyped chan struct{} // holds a signal when there are drafts in typedDrafts

	draftSetting sync.Mutex // held while drafts are given to the client, so that one which was sent does not come back. Taken before mu

	mu                  sync.Mutex        // guards the fields below
	typedDrafts         map[uint64]string // drafts that were not given to the client yet, by chat; those of a moment
	open                *chatv1.Conversation
	signedOut           bool   // the user asked for the end of the session
	roomID              uint64 // the chat room that the user is in; 0 for none
	inside              roomState
	threadIDs           []uint64 // as /threads listed them
	broadcastIDs        []uint64 // as /broadcasts listed them, of the account broadcastsOf
	broadcastsOf        uint64
	decisionIDs         []uint64 // as they were announced, or /decisions listed them
	scheduledIDs        []uint64 // as /scheduled listed them, in the chat scheduledIn
	scheduledIn         uint64
	ticketIDs           []uint64             // as /tickets listed them
	deskKeys            []string             // of the help desks, as last read
	postIDs             []uint64             // as they were shown last
	postAuthors         []uint64             // of postIDs
	unopened            map[uint64]bool      // ranked posts that were not opened yet
	commentIDs          comments             // as /comments listed them
	postPlaces          map[string]postPlace // how far each list of posts was shown
	toldOfPosts         bool                 // new posts were announced since the last /feed
	unreadNotifications uint32               // as they were announced last
	olderNotifications  uint64               // before which /notifications more goes on; 0: there are no older ones
	warned              map[uint64]bool      // warnings of moderators that were shown
	shown               uint64               // highest seq of the open chat on the screen
	oldest              uint64               // lowest seq of the open chat on the screen
	mine                uint64               // highest seq of the user's own messages
	delivered           uint64               // the peer's delivered cursor, as shown
	read                uint64
	day                 string                     // of the last message on the screen
	messages            map[uint64]*chatv1.Message // of the open chat, by seq; at most maxKept, then they are read again
	list                []uint64
	chats               map[uint64]*chatv1.Conversation
	tickets             map[uint64]ticketLabel // of chats whose title was shown
	before              map[uint64]uint64      // last seq of each chat when the list was first read: unread, but not new
	people              map[uint64]person
	relations           map[uint64]*chatv1.Relation
	sessions            []uint64
	present             map[uint64]string // the presence of users, in words, of those who let this user see it
	watched             []uint64          // whose presence is wanted, in rising order
	changed             bool              // relations changed while this client was away
	begunWell           bool              // the lists were read
	online              bool
	wasOnline           bool
	previewsOff         bool                 // the server makes no previews of links for this user
	typed               time.Time            // when a typing notification was last sent
	streamed            streamedMessage      // the last that was shown while it was being written
	typing              map[uint64]time.Time // when typing was last shown, by user
}

type person struct{ handle, name string }

func newScreen() *screen {
	return &screen{chats: map[uint64]*chatv1.Conversation{}, tickets: map[uint64]ticketLabel{}, before: map[uint64]uint64{}, messages: map[uint64]*chatv1.Message{}, people: map[uint64]person{},
		relations: map[uint64]*chatv1.Relation{}, present: map[uint64]string{}, postPlaces: map[string]postPlace{}, warned: map[uint64]bool{}, typing: map[uint64]time.Time{},
		draftTyped: make(chan struct{}, 1), typedDrafts: map[uint64]string{}}
}

// say prints a line in the user's language.
func (s *screen) say(format string, args ...any) {
	s.console.Say(s.paintLine(phrasef(format, args...)))
}

func (s *screen) run(ctx context.Context, o options) error {
	keep, err := s.openState(&o)
	if err != nil {
		return err
	}
	defer keep.Close()
	s.url = o.url
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
	if err := s.signIn(ctx, o); errors.Is(err, io.EOF) && !s.keyed {
		return errorf("the input ended before you were signed in; a script answers the questions line by line")
	} else if err != nil {
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
	group.Go(func() { s.keepDrafts(ctx) })
	group.Go(func() {
		for {
			select {
			case e := <-events:
				s.turn.Lock()
				s.show(ctx, e)
				if len(events) == 0 {
					s.settleRelations(ctx)
				}
				s.turn.Unlock()
			case <-ctx.Done():
				return
			}
		}
	})
	return s.obey(ctx, ended)
}

// obey executes input lines until the user quits or the session ends.
func (s *screen) obey(ctx context.Context, ended <-chan error) error {
	lines, next := make(chan string), make(chan struct{})
	go func() { // ends with the input or the process: a read from a terminal cannot be interrupted
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
			case <-next: // a command may ask a question, whose answer is not a line for this loop
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

// finishTime limits sending the last input when the user quits; after it, messages are sent at the next start.
const finishTime = 10 * time.Second

// finish waits until the last input is sent.
func (s *screen) finish(ctx context.Context) error {
	s.leaveDraft()
	s.mu.Lock()
	online := s.online || !s.wasOnline
	s.mu.Unlock()
	if !online {
		s.say("* offline: unsent messages will be sent at the next start")
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, finishTime)
	defer cancel()
	if err := s.client.Flush(ctx); err != nil {
		return err
	}
	_ = s.client.FlushDrafts(ctx) // those that wait still are told at the next start
	return nil
}
