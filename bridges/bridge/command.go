package bridge

import (
	"context"
	"crypto/x509"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	rialto "github.com/rialto-im/rialto/sdk/go"
	bridgev1 "github.com/rialto-im/rialto/sdk/go/gen/bridge/v1"
)

// Command has the settings that the programs of all bridges share. The API key is in the environment variable RIALTO_KEY.
type Command struct {
	Flags  *flag.FlagSet // to which a bridge adds its own
	Logger *slog.Logger
	// Rooms that may be linked, separated by commas; * is all.
	Rooms string
	// State is the directory of what the bridge must not forget.
	State string

	url, authority, displayName string
}

// NewCommand makes the flags that all bridges have. program is the name of the program and of its directory by default, system that of the other system. roomsFlag is the flag of the rooms, and example one of them.
func NewCommand(program, system, roomsFlag, example string) *Command {
	c := &Command{Flags: flag.NewFlagSet(program, flag.ContinueOnError), Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))}
	c.Flags.StringVar(&c.url, "url", "http://127.0.0.1:7070", "`address` of Rialto; the API key of the bridge is in the environment variable RIALTO_KEY")
	c.Flags.StringVar(&c.authority, "ca", "", "`file` with the certificates that sign the server's, if the system does not have them")
	c.Flags.StringVar(&c.displayName, "name", system, "`name` of the other system, as groups see it")
	c.Flags.StringVar(&c.Rooms, roomsFlag, "", "`"+roomsFlag+"` that groups may be linked with, separated by commas, as "+example+"; * permits all; required")
	c.Flags.StringVar(&c.State, "state", program, "`directory` with what came from "+system+" and is not stored yet, and how far the bridge is")
	return c
}

// Roots returns the certificates of --ca; nil, which are those of the system, without that.
func (c *Command) Roots() (*x509.CertPool, error) {
	if c.authority == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(c.authority)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s has no certificate in PEM", c.authority)
	}
	return roots, nil
}

// Run is the bridge to a system until ctx ends. carries says what the system carries.
func (c *Command) Run(ctx context.Context, system System, carries *bridgev1.PutBridgeRequest) error {
	side, err := rialto.NewBridge(rialto.BridgeConfig{URL: c.url, Key: os.Getenv("RIALTO_KEY")})
	if err != nil {
		return err
	}
	carries.DisplayName = c.displayName
	b, err := New(Config{Rialto: side, Registration: carries, Rooms: roomsOf(c.Rooms), Spool: filepath.Join(c.State, "spool"), Logger: c.Logger})
	if err != nil {
		return err
	}
	return b.Run(ctx, system)
}

// roomsOf returns the rooms of a list with commas.
func roomsOf(list string) []string {
	rooms := strings.Split(list, ",")
	for n := range rooms {
		rooms[n] = strings.TrimSpace(rooms[n])
	}
	return rooms
}

// Main runs a program until the process is asked to stop. It ends the process with 1 after an error.
func Main(program string, run func(ctx context.Context, args []string) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, program+":", err)
		os.Exit(1)
	}
}
