package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// openState finds the file that keeps the session, and holds it: two clients on one session would number their messages alike.
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
		return nil, errors.Join(fmt.Errorf("another rialto chat is using %s; give this one a --state of its own", o.state), lock.Close())
	}
	return lock, nil
}

// chooseState takes one file for each server and handle: a token must reach no other server than its own.
func (s *screen) chooseState(o *options) error {
	config, err := os.UserConfigDir()
	if err != nil {
		return fmt.Errorf("give --state: %w", err)
	}
	u, err := url.Parse(o.url)
	if err != nil || u.Host == "" {
		return fmt.Errorf("%q is no URL, as https://chat.example.com", o.url)
	}
	dir := filepath.Join(config, "rialto", "chat", strings.ReplaceAll(u.Host, ":", "_"))
	if o.handle == "" {
		known, err := filepath.Glob(filepath.Join(dir, "*.json"))
		if err == nil && len(known) == 1 && !o.register {
			o.state = known[0]
			return nil
		}
		if o.handle, err = s.console.Ask("Handle: ", false); err != nil {
			return err
		}
		o.handle = strings.ToLower(strings.TrimPrefix(o.handle, "@"))
	}
	if o.handle == "" || strings.ContainsAny(o.handle, `/\`) || o.handle[0] == '.' {
		return errors.New("a handle has 3 to 32 of a-z, 0-9, dot and underscore")
	}
	o.state = filepath.Join(dir, o.handle+".json")
	return nil
}

// signIn goes on with the kept session, or asks.
func (s *screen) signIn(ctx context.Context, o options) (err error) {
	if s.client.SignedIn() && !o.register {
		return nil
	}
	if o.handle == "" {
		if o.handle, err = s.console.Ask("Handle: ", false); err != nil {
			return err
		}
		o.handle = strings.TrimPrefix(o.handle, "@")
	}
	if o.code && !o.register {
		if err := s.client.RequestCode(ctx, o.handle); err != nil {
			return err
		}
		code, err := s.console.Ask("Code that was sent to you: ", false)
		if err != nil {
			return err
		}
		return s.client.LoginWithCode(ctx, o.handle, code)
	}
	name := o.handle
	if o.register {
		if name, err = s.console.Ask("Name that others see: ", false); err != nil {
			return err
		}
	}
	password, err := s.console.Ask("Password: ", true)
	if err != nil {
		return err
	}
	if !o.register {
		return s.client.Login(ctx, o.handle, password)
	}
	if s.keyed { // nobody has seen it
		again, err := s.console.Ask("Password, again: ", true)
		if err != nil {
			return err
		}
		if again != password {
			return errors.New("these are two different passwords")
		}
	}
	return s.client.Register(ctx, o.handle, password, name)
}
