package app

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/user"
	"strconv"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/auditlog"
	"github.com/rialto-im/rialto/internal/platform/datadir"
)

// auditFlags of a command that changes something: who runs it, beside the user of the operating system, and why. The audit log has both.
type auditFlags struct{ operator, reason string }

// Limits in characters. A reason has that of the console.
const (
	maxOperatorFlag = 100
)

func (a *auditFlags) add(fs *flag.FlagSet) {
	fs.StringVar(&a.operator, "operator", "", "`name` of who runs this, for the audit log; it has the user of the operating system as well")
	a.addReason(fs)
}

func (a *auditFlags) addReason(fs *flag.FlagSet) {
	fs.StringVar(&a.reason, "reason", "", "`text` for the audit log")
}

// check returns what is wrong with the flags.
func (a *auditFlags) check() string {
	switch {
	case a.operator != "" && !message.IsText(a.operator, maxOperatorFlag, message.IsLine) || auditlog.ImitatesSystem(a.operator):
		return fmt.Sprintf("--operator is one line of at most %d characters%s, and does not contain %s", maxOperatorFlag, message.TextRule, auditlog.SystemPrefix)
	case !message.IsReason(a.reason):
		return fmt.Sprintf("--reason has at most %d characters%s", message.MaxReason, message.TextRule)
	}
	return ""
}

// who names the person for the audit log: os:USER@HOST, after the name that the person gave.
func (a *auditFlags) who() string {
	system := auditlog.SystemPrefix + systemUser() + "@" + hostName()
	if a.operator == "" {
		return system
	}
	return fmt.Sprintf("%s (%s)", a.operator, system)
}

// systemUser is the user of the operating system who runs this process; of one who became root by sudo, both.
func systemUser() string {
	name := strconv.Itoa(os.Getuid()) // a container may have no name for it
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if by := os.Getenv("SUDO_USER"); by != "" && by != name && os.Getuid() == 0 && message.IsText(by, maxOperatorFlag, message.IsLine) {
		return by + " as " + name
	}
	return name
}

func hostName() string {
	name, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return name
}

// changer is who changes something by a command, with the audit log that has it.
type changer struct {
	flags auditFlags
	audit *auditlog.Log
}

// changer opens the audit log of a database.
func (a *auditFlags) changer(ctx context.Context, db *sqldb.DB) (changer, error) {
	log, err := auditlog.New(ctx, db, clock.System{})
	return changer{*a, log}, err
}

// record returns what adds entries of the person.
func (c changer) record() auditlog.Recorder { return c.audit.By(c.flags.who(), c.flags.reason) }

// caller is the person as the service of the console sees them.
func (c changer) caller() id.Caller { return id.Caller{Key: c.flags.who(), Role: id.Operator} }

// add records what is no change of the database.
func (c changer) add(ctx context.Context, e auditlog.Entry) error {
	e.Who, e.Reason = c.flags.who(), c.flags.reason
	if err := c.audit.Record(ctx, e); err != nil {
		return fmt.Errorf("the audit log: %w", err)
	}
	return nil
}

// recordIn records a command in the audit log of a data directory, which this process has locked.
func (a *auditFlags) recordIn(ctx context.Context, data string, e auditlog.Entry) error {
	stores, err := datadir.OpenDatabase(ctx, data, slog.New(slog.DiscardHandler))
	if err != nil {
		return fmt.Errorf("the audit log: %w", err)
	}
	return errors.Join(a.record(ctx, stores.DB, e), stores.Close())
}

// record records a command in the audit log of a database.
func (a *auditFlags) record(ctx context.Context, db *sqldb.DB, e auditlog.Entry) error {
	c, err := a.changer(ctx, db)
	if err != nil {
		return fmt.Errorf("the audit log: %w", err)
	}
	return c.add(ctx, e)
}

// plain returns a refusal of a service as a text for the terminal, without its reason for programs.
func plain(err error) error {
	if e := (*errs.Error)(nil); errors.As(err, &e) && e.Cause == nil {
		return errors.New(e.Message)
	}
	return err
}
