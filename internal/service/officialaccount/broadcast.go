package officialaccount

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"golang.org/x/text/language"
	"google.golang.org/protobuf/proto"
)

const (
	maxPending       = 20 // broadcasts of an account that are not over
	maxWaves         = 10
	maxWaveSeconds   = 7 * 24 * 3600
	maxPerMinute     = 60_000
	maxAhead         = 366 * 24 * time.Hour
	maxChoices       = 10 // labels, and languages, of an audience
	maxBroadcastPage = 50
)

var (
	errNoBroadcast       = errs.New(errs.Denied, "not_operator", errNotOperator.Message)
	errAudience          = errs.New(errs.Invalid, "bad_audience", "an audience has at most 10 labels, and at most 10 languages as en or zh")
	errTooManyBroadcasts = errs.New(errs.Exhausted, "too_many_broadcasts", "20 broadcasts of this account are not over; wait, or cancel some first")
	errDisabled          = errs.New(errs.Denied, "official_account_disabled", "this official account is disabled; ask those who run the service")
)

const (
	running   = chatv1.Broadcast_STATE_RUNNING
	paused    = chatv1.Broadcast_STATE_PAUSED
	done      = chatv1.Broadcast_STATE_DONE
	cancelled = chatv1.Broadcast_STATE_CANCELLED
	recalled  = chatv1.Broadcast_STATE_RECALLED
)

// broadcast is a row of official_broadcasts.
type broadcast struct {
	id          uint64
	account     id.User
	author      id.User
	content     []byte
	audience    *chatv1.BroadcastAudience
	waves       []uint32
	waveSeconds uint32
	perMinute   uint32
	state       chatv1.Broadcast_State
	wave        int
	afterUser   id.User
	dueMs       int64
	workMs      int64
	sent        uint32
	failed      uint32
	revision    uint32
	createdMs   int64
	changedBy   id.User
	faults      int  // steps that failed since one succeeded
	sending     bool // its last recipients were claimed, and not all of them were tried yet
}

const broadcastColumns = `id, account, author, content, audience, waves, wave_seconds, per_minute, state, wave, after_user, due_ms, work_ms, sent, failed, revision, created_ms, changed_by, faults,
	state = 3 AND EXISTS (SELECT 1 FROM official_deliveries d WHERE d.broadcast = official_broadcasts.id AND d.state = 1 AND d.tries = 0)` // done, and claimed

func scanBroadcast(scan func(...any) error) (*broadcast, error) {
	b := &broadcast{audience: &chatv1.BroadcastAudience{}}
	var audience []byte
	var waves string
	err := scan(&b.id, &b.account, &b.author, &b.content, &audience, &waves, &b.waveSeconds, &b.perMinute, &b.state, &b.wave, &b.afterUser, &b.dueMs, &b.workMs, &b.sent, &b.failed,
		&b.revision, &b.createdMs, &b.changedBy, &b.faults, &b.sending)
	if err != nil {
		return nil, err
	}
	for part := range strings.SplitSeq(waves, " ") {
		percent, err := strconv.ParseUint(part, 10, 32)
		if err != nil {
			return nil, err
		}
		b.waves = append(b.waves, uint32(percent))
	}
	return b, proto.Unmarshal(audience, b.audience)
}

func readBroadcast(ctx context.Context, q sqldb.Querier, n uint64) (*broadcast, error) {
	if n > math.MaxInt64 {
		return nil, errNoBroadcast
	}
	b, err := scanBroadcast(q.QueryRowContext(ctx, `SELECT `+broadcastColumns+` FROM official_broadcasts WHERE id = $1`, int64(n)).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, errNoBroadcast
	}
	return b, err
}

// operatedBroadcast returns a broadcast of an account that a user operates.
func operatedBroadcast(ctx context.Context, q sqldb.Querier, n uint64, by id.User) (*broadcast, error) {
	b, err := readBroadcast(ctx, q, n)
	if err != nil {
		return nil, err
	}
	_, _, err = operated(ctx, q, b.account, by)
	return b, err
}

// viewBroadcast returns a broadcast as operators see it.
func (s *Service) viewBroadcast(ctx context.Context, b *broadcast) (*chatv1.Broadcast, error) {
	v := &chatv1.Broadcast{Id: b.id, Account: uint64(b.account), Author: uint64(b.author), Content: &chatv1.Content{}, Audience: b.audience, Waves: b.waves, WaveSeconds: b.waveSeconds,
		PerMinute: b.perMinute, State: b.state, Wave: uint32(b.wave), DueMs: b.dueMs, Sent: b.sent, Failed: b.failed, Revision: b.revision, CreatedMs: b.createdMs, ChangedBy: uint64(b.changedBy)}
	if b.sending {
		v.State = running
	}
	if err := proto.Unmarshal(b.content, v.Content); err != nil {
		return nil, err
	}
	if b.revision == 1 {
		return v, nil
	}
	err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM official_deliveries WHERE broadcast = $1 AND state = $2 AND revision < $3 AND tries < $4)`, int64(b.id), deliverySent, b.revision, maxTries).Scan(&v.Updating)
	return v, err
}

// CreateBroadcast stores a broadcast, which is sent from its start on. A retry with the same key returns the first.
func (s *Service) CreateBroadcast(ctx context.Context, by id.User, r *chatv1.CreateBroadcastRequest) (*chatv1.Broadcast, error) {
	account := id.User(r.User)
	if account > math.MaxInt64 {
		return nil, errNotOperator
	}
	o, _, err := operated(ctx, s.deps.DB.Read(), account, by)
	if err != nil {
		return nil, err
	}
	if o.disabled {
		return nil, errDisabled
	}
	waves, err := s.checkBroadcast(r)
	if err != nil {
		return nil, err
	}
	content, err := s.checkContent(account, r.Content)
	if err != nil {
		return nil, err
	}
	raw, err := encode(content)
	if err != nil {
		return nil, err
	}
	audience, err := proto.Marshal(r.Audience)
	if err != nil {
		return nil, err
	}
	n, err := s.deps.IDs.Next(ctx)
	if err != nil {
		return nil, err
	}
	var b *broadcast
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		inserted, err := tx.ExecContext(ctx, `INSERT INTO official_broadcasts (id, account, create_key, author, content, audience, waves, wave_seconds, per_minute, state, due_ms, work_ms, created_ms)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11, $12) ON CONFLICT DO NOTHING`,
			int64(n), int64(account), r.Key, int64(by), raw, audience, waves, r.WaveSeconds, r.PerMinute, running, max(r.StartMs, s.nowMs()), s.nowMs())
		if err != nil {
			return err
		}
		if rows, err := inserted.RowsAffected(); err != nil {
			return err
		} else if rows > 0 {
			count := 0
			if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM official_broadcasts WHERE account = $1 AND (state = $2 OR state = $3)`, int64(account), running, paused).Scan(&count); err != nil || count > maxPending {
				return orElse(err, errTooManyBroadcasts)
			}
		}
		b, err = scanBroadcast(tx.QueryRowContext(ctx, `SELECT `+broadcastColumns+` FROM official_broadcasts WHERE account = $1 AND create_key = $2`, int64(account), r.Key).Scan)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.viewBroadcast(ctx, b)
}

// checkBroadcast returns the stored form of the waves.
func (s *Service) checkBroadcast(r *chatv1.CreateBroadcastRequest) (string, error) {
	switch {
	case r.Key == "" || len(r.Key) > 64 || !utf8.ValidString(r.Key) || strings.ContainsRune(r.Key, 0):
		return "", badBroadcast("the key of a broadcast has 1 to 64 bytes of UTF-8, without a zero byte")
	case r.WaveSeconds > maxWaveSeconds:
		return "", badBroadcast("the waves of a broadcast are at most a week apart: waveSeconds is at most 604,800")
	case r.PerMinute > maxPerMinute:
		return "", badBroadcast("a broadcast sends at most 60,000 messages a minute")
	case r.StartMs < 0 || r.StartMs > s.nowMs()+maxAhead.Milliseconds():
		return "", badBroadcast("a broadcast begins at most a year from now; startMs is in milliseconds since 1970")
	}
	waves, err := checkWaves(r.Waves)
	if err != nil {
		return "", err
	}
	return waves, checkAudience(r.Audience)
}

func badBroadcast(why string) error { return errs.New(errs.Invalid, "bad_broadcast", why) }

// checkWaves returns the stored form of waves.
func checkWaves(list []uint32) (string, error) {
	if len(list) > maxWaves {
		return "", badBroadcast("a broadcast has at most 10 waves")
	}
	if len(list) == 0 {
		return "100", nil
	}
	waves, last := []string{}, uint32(0)
	for _, percent := range list {
		if percent <= last {
			return "", badBroadcast("the waves of a broadcast are percentages that rise, from 1 on")
		}
		last = percent
		waves = append(waves, strconv.Itoa(int(percent)))
	}
	if last != 100 {
		return "", badBroadcast("the last wave of a broadcast is 100 percent")
	}
	return strings.Join(waves, " "), nil
}

// checkAudience checks an audience, and shortens its languages to their base.
func checkAudience(a *chatv1.BroadcastAudience) error {
	if len(a.GetLabels()) > maxChoices || len(a.GetLanguages()) > maxChoices {
		return errAudience
	}
	for _, l := range a.GetLabels() {
		if !isLabel(l) {
			return errAudience
		}
	}
	for i, l := range a.GetLanguages() {
		base, err := language.ParseBase(l)
		if err != nil {
			return errAudience
		}
		a.Languages[i] = base.String() // EN and eng are en, as in locales
	}
	return nil
}

// GetBroadcast returns a broadcast with its progress.
func (s *Service) GetBroadcast(ctx context.Context, by id.User, n uint64) (*chatv1.Broadcast, error) {
	b, err := operatedBroadcast(ctx, s.deps.DB.Read(), n, by)
	if err != nil {
		return nil, err
	}
	return s.viewBroadcast(ctx, b)
}

// ListBroadcasts returns a page of an account's broadcasts, the newest first.
func (s *Service) ListBroadcasts(ctx context.Context, by id.User, r *chatv1.ListBroadcastsRequest) (*chatv1.ListBroadcastsResponse, error) {
	if id.User(r.User) > math.MaxInt64 {
		return nil, errNotOperator
	}
	o, _, err := operated(ctx, s.deps.DB.Read(), id.User(r.User), by)
	if err != nil {
		return nil, err
	}
	limit, below := int(r.Limit), int64(math.MaxInt64)
	if limit == 0 {
		limit = 20
	}
	if r.Page != "" {
		below, err = strconv.ParseInt(r.Page, 10, 64)
	}
	if err != nil || limit > maxBroadcastPage {
		return nil, errPage
	}
	list, err := s.queryBroadcasts(ctx, `SELECT `+broadcastColumns+` FROM official_broadcasts WHERE account = $1 AND id < $2 ORDER BY id DESC LIMIT $3`, int64(o.account), below, limit+1)
	if err != nil {
		return nil, err
	}
	page := &chatv1.ListBroadcastsResponse{}
	if len(list) > limit {
		list = list[:limit]
		page.Next = strconv.FormatUint(list[limit-1].id, 10)
	}
	for _, b := range list {
		v, err := s.viewBroadcast(ctx, b)
		if err != nil {
			return nil, err
		}
		page.Broadcasts = append(page.Broadcasts, v)
	}
	return page, nil
}

func (s *Service) queryBroadcasts(ctx context.Context, query string, args ...any) (list []*broadcast, err error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, query, args...)
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		b, err := scanBroadcast(rows.Scan)
		if err != nil {
			return err
		}
		list = append(list, b)
		return nil
	})
	return list, err
}
