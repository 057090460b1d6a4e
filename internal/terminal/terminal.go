// Package terminal is rialto chat: a client for people who live in a terminal, and for scripts. It reads lines and writes
// lines, so it works in a pipe as well. What must be remembered (session, position, unsent messages) is kept in a file.
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
	"path/filepath"
	"strings"
	"sync"
	"time"

	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	rialto "github.com/rialto-im/rialto/sdk/go"
	"golang.org/x/term"
)

// Main is rialto chat. It exits 0 when the user leaves, 1 after an error, 2 for bad flags.
func Main(args []string, in io.Reader, out, errOut io.Writer) int {
	fs := flag.NewFlagSet("rialto chat", flag.ContinueOnError)
	fs.SetOutput(errOut)
	url := fs.String("url", "http://127.0.0.1:7070", "the deployment's `URL`")
	handle := fs.String("handle", "", "your `handle`; asked for where it is not given")
	register := fs.Bool("register", false, "make an account")
	state := fs.String("state", "", "`file` that keeps the session; default in your configuration directory")
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(errOut, "\n", help)
		return 0
	case err != nil:
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	s := &screen{lines: bufio.NewReader(in), in: in, out: out}
	if err := s.run(ctx, *url, *handle, *state, *register); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(errOut, "rialto chat:", err)
		return 1
	}
	return 0
}

const help = `Lines are sent to the open chat. Commands:
  /chats               list your chats, with unread counts
  /open N | @handle    open a chat, by its number in the list or with a user
  /history [N]         show the last N messages of the open chat (20)
  /find WORDS          find people by name or handle
  /friends             list friends and requests
  /add @handle         ask somebody to be your friend
  /accept @handle      accept a request     /decline @handle
  /block @handle       /unblock @handle
  /group TITLE @a @b   make a group
  /invite @handle      bring somebody into the open group     /leave
  /members             list the open group's members
  /logout              end the session on this terminal
  /quit                leave; /help shows this
`

// screen is one run of the terminal.
type screen struct {
	in     io.Reader
	lines  *bufio.Reader
	client *rialto.Client

	mu    sync.Mutex // guards all below, and writing
	out   io.Writer
	open  *chatv1.Conversation // nil: none
	chats []*chatv1.Conversation
	names map[uint64]string
}

func (s *screen) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.out, format+"\n", args...)
}

// ask reads one line. Without a terminal the question is still written, so that a log can be read.
func (s *screen) ask(question string) (string, error) {
	fmt.Fprint(s.out, question)
	line, err := s.lines.ReadString('\n')
	if err != nil && line == "" {
		return "", err
	}
	return strings.TrimSpace(line), nil
}

// password is read without showing it.
func (s *screen) password() (string, error) {
	f, ok := s.in.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return s.ask("Password: ")
	}
	fmt.Fprint(s.out, "Password: ")
	b, err := term.ReadPassword(int(f.Fd()))
	fmt.Fprintln(s.out)
	return string(b), err
}

func (s *screen) run(ctx context.Context, url, handle, state string, register bool) error {
	s.names = map[uint64]string{}
	if state == "" {
		dir, err := os.UserConfigDir()
		if err != nil {
			return fmt.Errorf("give --state: %w", err)
		}
		state = filepath.Join(dir, "rialto", "chat.json")
	}
	events := make(chan rialto.Event, 256)
	client, err := rialto.New(rialto.Config{URL: url, Name: "Terminal", Type: "terminal", Store: rialto.NewFileStore(state), Handler: func(e rialto.Event) {
		select {
		case events <- e:
		case <-ctx.Done():
		}
	}})
	if err != nil {
		return err
	}
	s.client = client
	if err := s.signIn(ctx, handle, register); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	ended := make(chan error, 1)
	group.Go(func() { ended <- client.Run(ctx) })
	group.Go(func() {
		for {
			select {
			case e := <-events:
				s.show(ctx, e)
			case <-ctx.Done():
				return
			}
		}
	})
	s.say("Signed in. /help lists the commands.")
	if err := s.listChats(ctx); err != nil {
		s.say("! %s", explain(err))
	}
	typed := make(chan string)
	go func() { // ends with the input, or with the process: a read of a terminal cannot be taken back
		defer close(typed)
		for {
			line, err := s.lines.ReadString('\n')
			if line = strings.TrimRight(line, "\r\n"); line != "" {
				select {
				case typed <- line:
				case <-ctx.Done():
					return
				}
			}
			if err != nil {
				return
			}
		}
	}()
	for {
		select {
		case line, ok := <-typed:
			if !ok {
				return s.finish(ctx)
			}
			done, err := s.do(ctx, line)
			if err != nil {
				s.say("! %s", explain(err))
			}
			if done {
				return nil
			}
		case err := <-ended:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// finish lets what was typed last go out, when the input was a pipe that ended.
func (s *screen) finish(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return s.client.Flush(ctx)
}

// signIn goes on with the kept session, or asks.
func (s *screen) signIn(ctx context.Context, handle string, register bool) error {
	if s.client.SignedIn() && handle == "" && !register {
		return nil
	}
	var err error
	if handle == "" {
		if handle, err = s.ask("Handle: "); err != nil {
			return err
		}
	}
	handle = strings.TrimPrefix(handle, "@")
	name := handle
	if register {
		if name, err = s.ask("Name: "); err != nil {
			return err
		}
	}
	password, err := s.password()
	if err != nil {
		return err
	}
	if register {
		err = s.client.Register(ctx, handle, password, name)
	} else {
		err = s.client.Login(ctx, handle, password)
	}
	if err != nil {
		return errors.New(explain(err))
	}
	return nil
}
