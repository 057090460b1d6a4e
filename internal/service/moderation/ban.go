package moderation

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"math"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	"github.com/rialto-im/rialto/internal/base/pagetoken"
	"github.com/rialto-im/rialto/internal/base/ratelimit"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/auditlog"
	moderationv1 "github.com/rialto-im/rialto/sdk/go/gen/moderation/v1"
)

// appealTokenTime is how long a banned user may take to appeal, from the refusal that had the token.
const appealTokenTime = time.Hour

// maxEndMs is the last end of a ban, in the year 9999.
const maxEndMs = 253402300799000

// target of a ban, or of a limit of a user: one of user, device and network.
type target struct {
	user    id.User
	limited bool // and not banned
	device  id.Device
	network netip.Prefix
}

var errBadTarget = errs.New(errs.Invalid, "bad_ban", "ban a user, a device, or a network such as 203.0.113.7 or 2001:db8::/48: of IPv4 8 to 32 bits, of IPv6 16 to 64")

var errOwnNetwork = errs.New(errs.Invalid, "bad_ban", "a ban of 127.0.0.0/8 or ::1 would refuse nobody: requests from there are those of programs on this machine, or of clients whose addresses a proxy on it does not report. Let the proxy set X-Forwarded-For to the address of its client, and ban that address")

// targetOf reads the target of a request.
func targetOf(p *moderationv1.Target) (t target, err error) {
	switch of := p.GetOf().(type) {
	case *moderationv1.Target_User:
		t.user = id.User(of.User)
	case *moderationv1.Target_LimitedUser:
		t.user, t.limited = id.User(of.LimitedUser), true
	case *moderationv1.Target_Device:
		t.device = id.Device(of.Device)
	case *moderationv1.Target_Network:
		t.network, err = parseNetwork(of.Network)
	}
	if err != nil {
		return target{}, err
	}
	if t.user == 0 && t.device == 0 && !t.network.IsValid() || t.user > math.MaxInt64 || t.device > math.MaxInt64 {
		return target{}, errBadTarget
	}
	return t, nil
}

// parseNetwork reads a network, or an address.
func parseNetwork(text string) (netip.Prefix, error) {
	if address, err := netip.ParseAddr(text); err == nil {
		text = address.Unmap().WithZone("").String() + "/32"
		if address.Unmap().Is6() {
			text = strings.TrimSuffix(text, "/32") + "/64"
		}
	}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return p, errBadTarget
	}
	least, most := 8, 32
	if p.Addr().Is6() {
		least, most = 16, 64
	}
	if p.Addr().Is4In6() || p.Bits() < least || p.Bits() > most {
		return p, errBadTarget
	}
	if p = p.Masked(); p.Addr().IsLoopback() || p.Contains(netip.IPv6Loopback()) {
		return p, errOwnNetwork
	}
	return p, nil
}

// String is the key of a target in the database.
func (t target) String() string {
	switch {
	case t.limited:
		return "limit " + t.user.String()
	case t.user != 0:
		return "user " + t.user.String()
	case t.device != 0:
		return "device " + t.device.String()
	}
	return t.network.String()
}

func parseTarget(text string) *moderationv1.Target {
	kind, number, named := strings.Cut(text, " ")
	n, _ := strconv.ParseUint(number, 10, 64) // String wrote it
	switch {
	case named && kind == "user":
		return &moderationv1.Target{Of: &moderationv1.Target_User{User: n}}
	case named && kind == "limit":
		return &moderationv1.Target{Of: &moderationv1.Target_LimitedUser{LimitedUser: n}}
	case named:
		return &moderationv1.Target{Of: &moderationv1.Target_Device{Device: n}}
	}
	return &moderationv1.Target{Of: &moderationv1.Target_Network{Network: text}}
}

// checkEnd checks the end of a ban.
func (s *Service) checkEnd(ms int64) error {
	if ms != 0 && ms <= s.nowMs() || ms < 0 || ms > maxEndMs {
		return errBanEnd
	}
	return nil
}

// untilText says when a ban ends.
func untilText(endsMs int64) string {
	if endsMs == 0 {
		return "for ever"
	}
	return "until " + time.UnixMilli(endsMs).UTC().Format("2006-01-02 15:04 UTC")
}

// insertBan bans a target, and ends its sessions, or limits a user. The caller calls announce after the commit.
func (s *Service) insertBan(ctx context.Context, tx *sql.Tx, n uint64, d *decision, t target) (announce func(), about id.User, err error) {
	low, high := "", ""
	switch {
	case t.network.IsValid():
		if low, high, err = s.admitNetwork(ctx, tx, t.network); err != nil {
			return nil, 0, err
		}
		announce = s.changed
	case t.limited:
		if err = s.admitLimit(ctx, tx); err != nil {
			return nil, 0, err
		}
		about, announce = t.user, s.changed
	default:
		if about, announce, err = s.deps.Accounts.EndForBan(ctx, tx, t.user, t.device); err != nil {
			return nil, 0, err
		}
		if about == 0 {
			return nil, 0, errNoTarget
		}
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO moderation_bans (id, decision, target, low, high, about, made_ms, ends_ms, limited) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
		int64(n), int64(d.id), t.String(), low, high, int64(about), d.timeMs, d.endsMs, t.limited)
	return announce, about, err
}

var errNoTarget = errs.New(errs.NotFound, "no_target", "there is no such user or device")

// BanTarget bans a user, a device or a network, or limits a user. It has a decision without a case, against which the user may appeal, unless it is a limit.
func (s *Service) BanTarget(ctx context.Context, c id.Caller, r *moderationv1.BanTargetRequest) (*moderationv1.Ban, error) {
	t, err := targetOf(r.Target)
	if err != nil {
		return nil, err
	}
	if !isReason(r.Reason) {
		return nil, errDecisionReason
	}
	if err := errors.Join(s.checkEnd(r.EndsMs), checkTexts(r.Explanation, r.Note)); err != nil {
		return nil, err
	}
	if t.limited {
		if err := s.checkKnown(ctx, t.user); err != nil {
			return nil, err
		}
	}
	n, err := s.deps.IDs.Next(ctx)
	if err != nil {
		return nil, err
	}
	d := decision{action: t.action(), reason: r.Reason, explanation: r.Explanation, note: r.Note, by: c.Key, endsMs: r.EndsMs}
	if d.id, err = s.deps.IDs.Next(ctx); err != nil {
		return nil, err
	}
	announce := func() {}
	err = s.deps.DB.WriteOnFullDisk(ctx, func(tx *sql.Tx) (err error) {
		d.timeMs = s.nowMs()
		if announce, d.about, err = s.insertBan(ctx, tx, n, &d, t); err != nil {
			return err
		}
		if err := d.insert(ctx, tx); err != nil {
			return err
		}
		return s.audit(ctx, tx, c, auditlog.Entry{Action: t.auditName(), Subject: t.String(), After: untilText(d.endsMs), Reason: r.Note})
	})
	if err != nil {
		return nil, err
	}
	announce()
	return s.getBan(ctx, n)
}

// banColumns are of moderation_bans b and moderation_decisions d.
const banColumns = `b.id, b.target, b.about, b.decision, b.made_ms, b.ends_ms, b.lifted_ms, d.explanation, d.decided_by`

func (s *Service) scanBan(scan func(...any) error) (*moderationv1.Ban, error) {
	b, text := &moderationv1.Ban{}, ""
	err := scan(&b.Id, &text, &b.About, &b.Decision, &b.MadeMs, &b.EndsMs, &b.LiftedMs, &b.Explanation, &b.By)
	b.Target, b.Active = parseTarget(text), b.LiftedMs == 0 && (b.EndsMs == 0 || b.EndsMs > s.nowMs())
	return b, err
}

func (s *Service) getBan(ctx context.Context, n uint64) (*moderationv1.Ban, error) {
	b, err := s.scanBan(s.deps.DB.Read().QueryRowContext(ctx, `SELECT `+banColumns+` FROM moderation_bans b JOIN moderation_decisions d ON d.id = b.decision WHERE b.id = $1`, int64(n)).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		err = errNoBan
	}
	if err != nil {
		return nil, err
	}
	return b, nil
}

// Queries of bans, the newest first.
const (
	listBans      = `SELECT ` + banColumns + ` FROM moderation_bans b JOIN moderation_decisions d ON d.id = b.decision WHERE b.id < $1 AND ($2 OR b.lifted_ms = 0 AND (b.ends_ms = 0 OR b.ends_ms > $3)) ORDER BY b.id DESC LIMIT $4`
	listBansAbout = `SELECT ` + banColumns + ` FROM moderation_bans b JOIN moderation_decisions d ON d.id = b.decision WHERE b.id < $1 AND ($2 OR b.lifted_ms = 0 AND (b.ends_ms = 0 OR b.ends_ms > $3)) AND b.about = $5 ORDER BY b.id DESC LIMIT $4`
)

// ListBans gives a page of bans.
func (s *Service) ListBans(ctx context.Context, _ id.Caller, r *moderationv1.ListBansRequest) (*moderationv1.ListBansResponse, error) {
	before, err := pagetoken.Start[int64](r.Page, math.MaxInt64)
	if err != nil {
		return nil, err
	}
	limit := outputlimit.PageSize(r.Limit)
	query, args := listBans, []any{before, r.Past, s.nowMs(), limit + 1}
	if r.About != 0 {
		query, args = listBansAbout, append(args, int64(r.About))
	}
	rows, err := s.deps.DB.Read().QueryContext(ctx, query, args...)
	list, err := sqldb.Collect(rows, err, s.scanBan)
	if err != nil {
		return nil, err
	}
	out := &moderationv1.ListBansResponse{}
	out.Bans, out.Next = cut(list, limit, (*moderationv1.Ban).GetId)
	out.Users, err = s.namesOf(ctx, usersOf(out.Bans, (*moderationv1.Ban).GetAbout))
	return out, err
}

// LiftBan ends a ban.
func (s *Service) LiftBan(ctx context.Context, c id.Caller, r *moderationv1.LiftBanRequest) (*moderationv1.Ban, error) {
	if err := checkTexts(r.Note); err != nil {
		return nil, err
	}
	announce := func() {}
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) (err error) {
		announce, err = s.lift(ctx, tx, c, `id = $2`, r.Ban, r.Note)
		return err
	})
	if err != nil {
		return nil, err
	}
	announce()
	return s.getBan(ctx, r.Ban)
}

// lift ends bans that are neither lifted nor over, by a condition about $2.
func (s *Service) lift(ctx context.Context, tx *sql.Tx, c id.Caller, where string, value uint64, note string) (announce func(), err error) {
	rows, err := tx.QueryContext(ctx, `UPDATE moderation_bans SET lifted_ms = $1 WHERE `+where+` AND lifted_ms = 0 AND (ends_ms = 0 OR ends_ms > $1) RETURNING target, high <> '' OR limited`, s.nowMs(), int64(value))
	lifted, err := sqldb.Pairs[string, bool](rows, err)
	if err != nil {
		return nil, err
	}
	announce = func() {}
	for text, inMemory := range lifted {
		if inMemory {
			if err := s.addEvent(ctx, tx); err != nil {
				return nil, err
			}
			announce = s.changed
		}
		entry := auditlog.Entry{Action: "ban.lift", Subject: text, Before: "banned", After: "lifted", Reason: note}
		if parseTarget(text).GetLimitedUser() != 0 {
			entry.Action, entry.Before = "limit.lift", "limited"
		}
		if err := s.audit(ctx, tx, c, entry); err != nil {
			return nil, err
		}
	}
	return announce, nil
}

// activeBans are those of two targets, and of an address: $2, $3, $4. Of an address that is not known, $4 is empty.
const activeBans = `SELECT b.target, b.about, b.decision, b.ends_ms, d.explanation, COALESCE(a.id, 0) FROM moderation_bans b JOIN moderation_decisions d ON d.id = b.decision LEFT JOIN moderation_appeals a ON a.decision = b.decision
		WHERE b.lifted_ms = 0 AND (b.ends_ms = 0 OR b.ends_ms > $1) AND (b.target = $2 OR b.target = $3)
	UNION ALL SELECT b.target, b.about, b.decision, b.ends_ms, d.explanation, 0 FROM moderation_bans b JOIN moderation_decisions d ON d.id = b.decision
		WHERE b.lifted_ms = 0 AND (b.ends_ms = 0 OR b.ends_ms > $1) AND b.high <> '' AND b.high >= $4 AND b.low <= $4`

// activeBan is a ban that holds.
type activeBan struct {
	target      string
	about       id.User
	decision    uint64
	endsMs      int64
	explanation string
	appeal      uint64
}

// CheckBan fails if a user, a device or the network of a request is banned, as of q: a transaction, or the primary. Of several bans it names the one that ends last. u, device and the
// network may be unknown.
func (s *Service) CheckBan(ctx context.Context, q sqldb.Reader, u id.User, device id.Device) error {
	address := ""
	if from := ratelimit.NetworkOf(ctx); from.IsValid() {
		address = hexOf(from.Addr())
	}
	rows, err := q.QueryContext(ctx, activeBans, s.nowMs(), target{user: u}.String(), target{device: device}.String(), address)
	var last *activeBan
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		b := activeBan{}
		err := rows.Scan(&b.target, &b.about, &b.decision, &b.endsMs, &b.explanation, &b.appeal)
		if last == nil || last.endsMs != 0 && (b.endsMs == 0 || b.endsMs > last.endsMs) {
			last = &b
		}
		return err
	})
	if err != nil || last == nil {
		return err
	}
	return s.banned(last, u)
}

// CheckUser is CheckBan for a user alone.
func (s *Service) CheckUser(ctx context.Context, u id.User) error {
	return s.CheckBan(ratelimit.WithNetwork(ctx, netip.Prefix{}), s.deps.DB.Read(), u, 0)
}

// banned is the refusal of a user because of a ban.
func (s *Service) banned(b *activeBan, u id.User) error {
	if b.about == 0 {
		return errNetwork(b.endsMs)
	}
	what := "this account"
	if strings.HasPrefix(b.target, "device ") {
		what = "this device"
	}
	e := errs.New(errs.Denied, "account_banned", what+" is banned "+untilText(b.endsMs))
	e.Ban = &errs.Ban{EndsMs: b.endsMs, Explanation: b.explanation}
	if b.explanation != "" {
		e.Message += ": " + b.explanation
	}
	switch {
	case b.appeal != 0:
		e.Message += ". You have appealed"
	case b.about == u: // the device's owner: another user who has that device cannot appeal
		place := binary.BigEndian.AppendUint64(nil, uint64(u))
		place = binary.BigEndian.AppendUint64(place, b.decision)
		e.Ban.AppealToken = s.tokens.Seal(binary.BigEndian.AppendUint64(place, uint64(s.nowMs()+appealTokenTime.Milliseconds())), []byte("appeal"))
		e.Message += ". You may appeal once, with AppealBan"
	}
	return e
}
