package terminal

import (
	"context"
	"errors"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"connectrpc.com/connect"
	rialto "github.com/rialto-im/rialto/sdk/go"
)

// openState opens and locks the session file: two clients with one session would use the same message numbers.
func (s *screen) openState(o *options) (io.Closer, error) {
	o.handle = strings.ToLower(strings.TrimPrefix(o.handle, "@"))
	if o.state == "" {
		if err := s.chooseState(o); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(filepath.Dir(o.state), 0o700); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(o.state+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(errorf("another rialto chat is using %s; choose another file with --state", o.state), lock.Close())
	}
	return lock, nil
}

// chooseState chooses a file for each server and handle, because a token must not be sent to another server.
func (s *screen) chooseState(o *options) error {
	config, err := os.UserConfigDir()
	if err != nil {
		return errorf("give --state: %w", err)
	}
	u, err := url.Parse(o.url)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return errorf("--url: %q is not a URL such as https://chat.example.com", o.url)
	}
	dir := filepath.Join(config, "rialto", "chat", strings.ReplaceAll(u.Host, ":", "_"))
	if o.handle == "" {
		known := statesIn(dir)
		if len(known) == 1 && !o.register {
			o.state = known[0]
			return nil
		}
		if o.handle, err = s.console.Ask(phrase("Handle: "), false); err != nil {
			return err
		}
		o.handle = strings.ToLower(strings.TrimPrefix(o.handle, "@"))
	}
	if o.handle == "" || strings.ContainsAny(o.handle, `/\`) || o.handle[0] == '.' {
		return errorf("a handle has 3 to 32 of a-z, 0-9, dot and underscore")
	}
	o.state = filepath.Join(dir, o.handle+".json")
	return nil
}

// maxTries is the number of attempts to sign in at a keyboard. A script gets one.
const maxTries = 5

// signIn uses the stored session, or asks for credentials. A person at a keyboard may retry.
func (s *screen) signIn(ctx context.Context, o options) (err error) {
	if s.client.SignedIn() && !o.register {
		return nil
	}
	if err := s.reachServer(ctx); err != nil {
		return err
	}
	if o.handle == "" {
		if o.handle, err = s.console.Ask(phrase("Handle: "), false); err != nil {
			return err
		}
		o.handle = strings.TrimPrefix(o.handle, "@")
	}
	enter := s.enterPassword
	switch {
	case o.register:
		name, err := s.console.Ask(phrase("Name that others see: "), false)
		if err != nil {
			return err
		}
		enter = func(ctx context.Context, o options) error { return s.enterNew(ctx, o, name) }
	case o.code:
		if err := s.client.RequestCode(ctx, o.handle); err != nil {
			return err
		}
		enter = s.enterCode
	}
	for try := 1; ; try++ {
		err := enter(ctx, o)
		var second *rialto.SecondFactorError
		if errors.As(err, &second) {
			enter = func(ctx context.Context, _ options) error { return s.enterSecondFactor(ctx, second.Challenge) }
			err = enter(ctx, o)
		}
		if err == nil || !s.keyed || try == maxTries || !isMistyped(err) {
			return err
		}
		s.say("! %s", explain(err))
	}
}

// reachTime is how long the server may take to answer before anything is asked.
const reachTime = 10 * time.Second

// reachServer fails if the server cannot be reached: nobody is to type a password for nothing. What it answers is of no interest here.
func (s *screen) reachServer(ctx context.Context) error {
	within, cancel := context.WithTimeout(ctx, reachTime)
	defer cancel()
	_, err := s.client.LoginMethods(within)
	switch code := connect.CodeOf(err); {
	case err == nil, connect.IsWireError(err):
		return nil
	case code == connect.CodeDeadlineExceeded && ctx.Err() == nil:
		return errorf("%s has not answered for %s; give --url of a server that runs", s.url, reachTime)
	case code == connect.CodeUnavailable:
		return err
	}
	return ctx.Err()
}

var errTwoPasswords = errorf("these are two different passwords")

// isMistyped reports whether the same question may get a better answer.
func isMistyped(err error) bool {
	return errors.Is(err, errTwoPasswords) || slices.Contains([]string{"bad_login", "bad_code", "bad_password", "weak_password", "bad_second_factor"}, rialto.Reason(err))
}

func (s *screen) enterPassword(ctx context.Context, o options) error {
	password, err := s.console.Ask(phrase("Password: "), true)
	if err != nil {
		return err
	}
	return s.client.Login(ctx, o.handle, password)
}

func (s *screen) enterSecondFactor(ctx context.Context, challenge string) error {
	code, err := s.console.Ask(phrase("Code of your authenticator app, or a recovery code: "), false)
	if err != nil {
		return err
	}
	return s.client.LoginWithSecondFactor(ctx, challenge, code)
}

func (s *screen) enterCode(ctx context.Context, o options) error {
	code, err := s.console.Ask(phrase("Code that was sent to you: "), false)
	if err != nil {
		return err
	}
	return s.client.LoginWithCode(ctx, o.handle, code)
}

func (s *screen) enterNew(ctx context.Context, o options, name string) error {
	password, err := s.console.Ask(phrase("Password: "), true)
	if err != nil {
		return err
	}
	if s.keyed { // the input was not visible
		again, err := s.console.Ask(phrase("Password, again: "), true)
		if err != nil {
			return err
		}
		if again != password {
			return errTwoPasswords
		}
	}
	return s.client.Register(ctx, o.handle, password, name)
}

// statesIn returns the files of states in a folder. A folder that cannot be read has none: the user is asked for the handle.
func statesIn(dir string) (files []string) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range list {
		if filepath.Ext(e.Name()) == ".json" {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	return files
}
