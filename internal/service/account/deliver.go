package account

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/job"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	"google.golang.org/protobuf/proto"
)

// Queue of the jobs that send codes and notices. A slow mail server delays no other jobs.
const Queue = "account"

// Concurrency is how many jobs of the queue a node runs at the same time.
const Concurrency = 4

func sendOptions() job.Options { return job.Options{Queue: Queue, Timeout: 40 * time.Second} }

// SMSMessage is the JSON body of a call of the webhook for text messages.
type SMSMessage struct {
	// To is a phone number, as +4915112345678.
	To string `json:"to"`
	// Text to send, which has the code in it.
	Text string `json:"text"`
	// Purpose is login, reset or contact.
	Purpose      string `json:"purpose"`
	Code         string `json:"code"`
	ValidSeconds int64  `json:"validSeconds"`
}

// notice is the job that tells a user by email how the protection of the account was changed.
type noticeJob struct {
	To     string `json:"to"`
	Handle string `json:"handle"`
	Locale string `json:"locale"`
	Change change `json:"change"`
}

// Kind of the job.
func (noticeJob) Kind() string { return "account_notice" }

// AddWorkers adds the workers of the queue.
func (s *Service) AddWorkers(w *job.Workers) {
	job.Add(w, func(ctx context.Context, j job.Job[sentCode]) error { return s.sendCode(ctx, j.Args) })
	job.Add(w, func(ctx context.Context, j job.Job[noticeJob]) error {
		if s.mail == nil {
			return job.Discard(errors.New("account.smtp is not configured any more"))
		}
		subject, text := noticeText(j.Args, s.config.ProductName)
		return s.mail.Send(ctx, j.Args.To, subject, text)
	})
}

// sendCode sends a code, unless it has expired or was used or replaced, or nobody is to get it.
func (s *Service) sendCode(ctx context.Context, c sentCode) error {
	row, err := readCode(ctx, s.deps.DB.Read(), c.name(), s.nowMs())
	if errors.Is(err, sql.ErrNoRows) || err == nil && row.madeMs != c.MadeMs {
		return job.Cancel(errors.New("the code has expired, or was used or replaced"))
	}
	if err != nil {
		return err
	}
	user, to, locale, err := s.recipient(ctx, c, row)
	if errors.Is(err, sql.ErrNoRows) {
		return nil // nobody has the handle, or its user has no such address
	}
	if err != nil {
		return err
	}
	if !s.delivers(c.Via) {
		return job.Discard(errNoDelivery)
	}
	code := s.textOf(c.name(), row, user)
	subject, text := codeText(c.Purpose, code, locale, s.config.ProductName)
	if c.Via == contactEmail {
		return s.mail.Send(ctx, to, subject, text)
	}
	left := row.madeMs + sentCodeLifetime.Milliseconds() - s.nowMs()
	return s.sms.Call(ctx, &SMSMessage{To: to, Text: strings.SplitN(text, "\n", 2)[0], Purpose: string(c.Purpose), Code: code, ValidSeconds: left / 1000}, nil)
}

// recipient returns who gets a code, and where. It fails with sql.ErrNoRows if nobody does.
func (s *Service) recipient(ctx context.Context, c sentCode, row codeRow) (user id.User, to, locale string, err error) {
	var raw []byte
	if c.Purpose == purposeContact {
		err = s.deps.DB.Read().QueryRowContext(ctx, `SELECT id, settings FROM users WHERE id = $1`, int64(c.User)).Scan(&user, &raw)
		to = row.address
	} else {
		err = s.deps.DB.Read().QueryRowContext(ctx, `SELECT u.id, u.settings, k.address FROM users u JOIN contacts k ON k.owner = u.id AND k.kind = $1 WHERE u.handle = $2`, int64(c.Via), c.Handle).Scan(&user, &raw, &to)
	}
	if err != nil {
		return 0, "", "", err
	}
	locale, err = localeOf(raw)
	return user, to, locale, err
}

func localeOf(settings []byte) (string, error) {
	var set accountv1.Settings
	err := proto.Unmarshal(settings, &set)
	return set.Locale, err
}

// notice stores the job that tells a user of a change by email, if the user has an address. It wakes no worker, since the queue is polled.
func (s *Service) notice(ctx context.Context, tx *sql.Tx, user id.User, what change) error {
	if s.mail == nil {
		return nil
	}
	n := noticeJob{Change: what}
	var raw []byte
	err := tx.QueryRowContext(ctx, `SELECT k.address, u.handle, u.settings FROM contacts k JOIN users u ON u.id = k.owner WHERE k.owner = $1 AND k.kind = $2`, int64(user), int64(contactEmail)).Scan(&n.To, &n.Handle, &raw)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	if n.Locale, err = localeOf(raw); err != nil {
		return err
	}
	_, err = s.deps.Jobs.InsertTx(ctx, tx, n, sendOptions())
	return err
}
