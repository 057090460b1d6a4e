package organization

import (
	"context"
	"database/sql"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/clusterevent"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

const (
	maxImport     = 512 << 10 // bytes of CSV
	maxImportRows = 2000
	maxReported   = 100 // errors and changes in an answer
)

// columns of the CSV. One of the first three names the user.
var columns = []string{"user", "external_id", "employee_number", "name", "title", "phone", "departments", "manager_of", "admin"}

// identifying are the columns of which a CSV has at least one.
var identifying = columns[:3]

// row is one line of a CSV.
type row struct {
	line  uint32
	input *chatv1.OrganizationMemberInput
	paths [][]string // of departments, with those below the top
	leads []bool     // whether the member manages each
	err   error
}

// importer has what an import reads and would change.
type importer struct {
	s      *Service
	org    uint64
	r      *chatv1.ImportOrganizationMembersRequest
	rows   []*row
	out    *chatv1.ImportOrganizationMembersResponse
	tree   *tree
	byPath map[string]uint64
	ids    []uint64 // for new departments
}

// ImportOrganizationMembers applies a CSV in one transaction, or says what that would change.
func (s *Service) ImportOrganizationMembers(ctx context.Context, by id.Caller, r *chatv1.ImportOrganizationMembersRequest) (*chatv1.ImportOrganizationMembersResponse, error) {
	if o, err := s.GetOrganization(ctx, by.User, r.Organization); err != nil {
		return nil, err
	} else if o.Role < roleAdmin {
		return nil, errNotAdmin
	}
	rows, err := parseCSV(r.Csv, max(r.FirstLine, 2))
	if err != nil {
		return nil, err
	}
	members, err := s.resolveRows(ctx, by, r.Organization, rows)
	if err != nil {
		return nil, err
	}
	ids, err := s.nextIDs(ctx, pathsIn(rows))
	if err != nil {
		return nil, err
	}
	var out *chatv1.ImportOrganizationMembersResponse
	err = s.change(ctx, by.User, r.Organization, func(tx *sql.Tx, _ *chatv1.Organization) ([]clusterevent.Event, error) {
		im := &importer{s: s, org: r.Organization, r: r, rows: rows, out: &chatv1.ImportOrganizationMembersResponse{}, byPath: map[string]uint64{}, ids: ids}
		out = im.out
		events, err := im.run(ctx, tx, members)
		if err == nil && (r.DryRun || out.Wrong > 0 && !r.Partial) {
			err = errNotApplied
		}
		return events, err
	})
	if errors.Is(err, errNotApplied) {
		err = nil
	}
	return out, err
}

// errNotApplied rolls an import back whose answer is complete.
var errNotApplied = errors.New("the import is not applied")

// parseCSV returns the rows of a CSV with the names of its columns in the first line. It fails where no row could be read.
func parseCSV(text string, firstLine uint32) ([]*row, error) {
	bad := func(message string) error { return errs.New(errs.Invalid, "bad_csv", message) }
	if len(text) > maxImport || !utf8.ValidString(text) {
		return nil, bad("a CSV is UTF-8 of at most 512 KiB; send a large one in parts")
	}
	reader := csv.NewReader(strings.NewReader(strings.TrimPrefix(text, "\ufeff")))
	reader.FieldsPerRecord, reader.ReuseRecord = -1, true
	names, err := reader.Read()
	if err != nil || len(names) > 2*len(columns) {
		return nil, bad("the first line of a CSV has the names of its columns: " + strings.Join(columns, ", "))
	}
	at := map[string]int{}
	for i, n := range names {
		n = strings.ToLower(strings.TrimSpace(n))
		if _, twice := at[n]; twice || !slices.Contains(columns, n) {
			return nil, bad(fmt.Sprintf("the column %.40q is unknown, or named twice; the columns, separated by commas, are %s", n, strings.Join(columns, ", ")))
		}
		at[n] = i
	}
	if !slices.ContainsFunc(identifying, func(c string) bool { _, named := at[c]; return named }) {
		return nil, bad("one column must say who a member is: " + strings.Join(identifying, ", "))
	}
	headerLine, _ := reader.FieldPos(len(names) - 1)
	var rows []*row
	for {
		record, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if len(rows) == maxImportRows {
			return nil, bad("a CSV has at most 2,000 rows; send a large one in parts")
		}
		row := &row{input: &chatv1.OrganizationMemberInput{}}
		if parse := (*csv.ParseError)(nil); errors.As(err, &parse) {
			row.line = firstLine + uint32(parse.StartLine-headerLine-1)
			row.err = bad("this line is no CSV: a quote is in the wrong place, or is not closed")
			return append(rows, row), nil // what follows cannot be told apart
		}
		line, _ := reader.FieldPos(0)
		row.line = firstLine + uint32(line-headerLine-1)
		row.err = row.read(at, record)
		if row.err == nil && len(record) != len(names) {
			row.err = bad("this line has " + strconv.Itoa(len(record)) + " fields, the first one " + strconv.Itoa(len(names)))
		}
		rows = append(rows, row)
	}
}

// read fills a row from its fields. A formula is text like any other.
func (r *row) read(at map[string]int, record []string) error {
	field := func(name string) string {
		if i, ok := at[name]; ok && i < len(record) {
			return strings.Clone(strings.TrimSpace(record[i]))
		}
		return ""
	}
	if u := field("user"); u != "" {
		n, err := strconv.ParseUint(u, 10, 63)
		if err != nil || n == 0 {
			return errNoExternal
		}
		r.input.User = n
	}
	r.input.ExternalId, r.input.EmployeeNumber, r.input.Name = field("external_id"), field("employee_number"), field("name")
	r.input.Title, r.input.Phone = field("title"), field("phone")
	r.input.Admin = slices.Contains([]string{"1", "true", "yes"}, strings.ToLower(field("admin")))
	for i, list := range []string{field("departments"), field("manager_of")} {
		for path := range strings.SplitSeq(list, ";") {
			if path = strings.TrimSpace(path); path == "" {
				continue
			}
			if len(r.paths) == maxPlaces {
				return errPlaces
			}
			parts := strings.Split(path, "/")
			if len(parts) > maxDepth {
				return errDepth
			}
			for n := range parts {
				var err error
				if parts[n], err = parseName(parts[n]); err != nil {
					return err
				}
			}
			r.paths, r.leads = append(r.paths, parts), append(r.leads, i == 1)
		}
	}
	return checkInput(r.input)
}

// resolveRows finds the members of the rows without an error, and adds errors to those whose user is not known, has not agreed, or is named twice.
func (s *Service) resolveRows(ctx context.Context, by id.Caller, org uint64, rows []*row) ([]*chatv1.OrganizationMember, error) {
	inputs := make([]*chatv1.OrganizationMemberInput, len(rows))
	for i, r := range rows {
		if inputs[i] = r.input; r.err != nil {
			inputs[i] = &chatv1.OrganizationMemberInput{}
		}
	}
	members, err := s.resolve(ctx, org, inputs)
	if err != nil {
		return nil, err
	}
	without, err := s.withoutConsent(ctx, by, org, members)
	if err != nil {
		return nil, err
	}
	full, err := s.memberOfTooMany(ctx, org, members)
	if err != nil {
		return nil, err
	}
	users, numbers := map[uint64]bool{}, map[string]bool{}
	for i, m := range members {
		switch {
		case rows[i].err != nil:
		case m == nil:
			rows[i].err = errNoExternal
		case without[m.User]:
			rows[i].err = errConsent
		case full[m.User]:
			rows[i].err = errMemberOf
		case users[m.User]:
			rows[i].err = errTwice
		case m.EmployeeNumber != "" && numbers[m.EmployeeNumber]:
			rows[i].err = errNumber
		default:
			users[m.User], numbers[m.EmployeeNumber] = true, true
		}
	}
	return members, nil
}

// memberOfTooMany returns the users who are in so many other organizations that they cannot be in this one.
func (s *Service) memberOfTooMany(ctx context.Context, org uint64, members []*chatv1.OrganizationMember) (map[uint64]bool, error) {
	full := map[uint64]bool{}
	for some := range slices.Chunk(members, maxPerCall) {
		some = slices.DeleteFunc(slices.Clone(some), func(m *chatv1.OrganizationMember) bool { return m == nil })
		if len(some) == 0 {
			continue
		}
		marks, args := sqldb.Placeholders(3, some, func(m *chatv1.OrganizationMember) int64 { return int64(m.User) })
		rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT member FROM organization_members WHERE organization <> $1 AND member IN (`+marks+`) GROUP BY member HAVING count(*) >= $2`, append([]any{int64(org), maxMemberOf}, args...)...)
		err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
			var u uint64
			err := rows.Scan(&u)
			full[u] = true
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return full, nil
}

// pathsIn returns how many departments the rows name, with those above them, but no more than may be added.
func pathsIn(rows []*row) int {
	paths := map[string]bool{}
	for _, r := range rows {
		for _, parts := range r.paths {
			for n := range parts {
				paths[pathKey(parts[:n+1])] = true
			}
		}
	}
	return min(len(paths), maxDepartments)
}

func (im *importer) run(ctx context.Context, tx *sql.Tx, members []*chatv1.OrganizationMember) (events []clusterevent.Event, err error) {
	if im.tree, err = readTree(ctx, tx, im.org); err != nil {
		return nil, err
	}
	for _, d := range slices.Sorted(maps.Keys(im.tree.of)) { // of two with the same path always the same one: the oldest
		if path := im.tree.path(d); im.byPath[path] == 0 {
			im.byPath[path] = d
		}
	}
	var batch []*chatv1.OrganizationMember
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		more, err := im.put(ctx, tx, batch)
		events, batch = append(events, more...), batch[:0]
		return err
	}
	for i, r := range im.rows {
		member := proto.CloneOf(members[i])
		rowErr := r.err
		if rowErr == nil {
			rowErr, err = im.checkNumber(ctx, tx, member)
		}
		if err == nil && rowErr == nil {
			rowErr, err = im.place(ctx, tx, r, member)
		}
		if err != nil {
			return nil, err
		}
		if rowErr != nil {
			im.fail(r.line, rowErr)
			continue
		}
		if batch = append(batch, member); len(batch) == maxPerCall {
			if err := flush(); err != nil {
				return nil, err
			}
		}
	}
	return events, flush()
}

// checkNumber returns why a member may not have its employee number, in this transaction.
func (im *importer) checkNumber(ctx context.Context, tx *sql.Tx, m *chatv1.OrganizationMember) (rowErr, err error) {
	if m.EmployeeNumber == "" {
		return nil, nil
	}
	var other uint64
	err = tx.QueryRowContext(ctx, `SELECT member FROM organization_members WHERE organization = $1 AND employee_number = $2`, int64(im.org), m.EmployeeNumber).Scan(&other)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err == nil && other != m.User:
		return errNumber, nil
	}
	return nil, err
}

func (im *importer) fail(line uint32, err error) {
	im.out.Wrong++
	if len(im.out.Errors) < maxReported {
		e := errs.Of(err)
		im.out.Errors = append(im.out.Errors, &chatv1.ImportError{Line: line, Reason: e.Reason, Message: e.Message})
	}
}

func (im *importer) report(format string, args ...any) {
	if len(im.out.Changes) < maxReported {
		im.out.Changes = append(im.out.Changes, fmt.Sprintf(format, args...))
	}
}

// put stores a batch and reports what it changes.
func (im *importer) put(ctx context.Context, tx *sql.Tx, batch []*chatv1.OrganizationMember) ([]clusterevent.Event, error) {
	users := make([]id.User, len(batch))
	for i, m := range batch {
		users[i] = id.User(m.User)
	}
	before, err := membersOf(ctx, tx, im.org, users)
	if err != nil {
		return nil, err
	}
	added, changed, events, err := im.s.putMembers(ctx, tx, im.org, batch)
	if err != nil {
		return nil, err
	}
	im.out.Added, im.out.Changed, im.out.Unchanged = im.out.Added+added, im.out.Changed+changed, im.out.Unchanged+uint32(len(batch))-added-changed
	for _, m := range batch {
		if old := before[m.User]; old == nil {
			im.report("+ %s", m.Name)
		} else if !proto.Equal(old, m) {
			im.report("~ %s", m.Name)
		}
	}
	return events, nil
}

// pathKey joins the names of a path by a character that no name has: a name may have a slash.
func pathKey(names []string) string { return strings.Join(names, "\x00") }

// path returns the pathKey of a department.
func (t *tree) path(d uint64) string {
	names := []string{t.of[d].Name}
	for at := t.of[d].Parent; at != 0; at = t.of[at].Parent {
		names = append(names, t.of[at].Name)
	}
	slices.Reverse(names)
	return pathKey(names)
}

// place finds the departments of a row, and adds missing ones.
func (im *importer) place(ctx context.Context, tx *sql.Tx, r *row, m *chatv1.OrganizationMember) (rowErr, err error) {
	leads := map[uint64]bool{}
	for i, parts := range r.paths {
		d := uint64(0)
		for n := range parts {
			path := pathKey(parts[:n+1])
			if im.byPath[path] == 0 {
				if len(im.tree.of) >= maxDepartments {
					return errTooMany, nil
				}
				next := im.ids[im.out.DepartmentsAdded]
				dep := &chatv1.Department{Id: next, Parent: d, Name: parts[n]}
				im.tree.add(dep)
				if err := putDepartment(ctx, tx, im.org, dep, true); err != nil {
					return nil, err
				}
				im.byPath[path] = next
				im.out.DepartmentsAdded++
				im.report("+ %s", strings.Join(parts[:n+1], "/"))
			}
			d = im.byPath[path]
		}
		leads[d] = leads[d] || r.leads[i]
	}
	for _, d := range slices.Sorted(maps.Keys(leads)) {
		m.Departments = append(m.Departments, &chatv1.DepartmentMembership{Department: d, Manager: leads[d]})
	}
	return nil, nil
}
