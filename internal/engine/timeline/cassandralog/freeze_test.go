package cassandralog

import (
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/apache/cassandra-gocql-driver/v2"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// statements are those of servers, by name.
var statements = map[string]string{
	"insertMeta":        insertMeta,
	"selectMeta":        selectMeta,
	"selectStores":      selectStores,
	"selectState":       selectState,
	"beginState":        beginState,
	"moveState":         moveState,
	"insertEntry":       insertEntry,
	"insertToken":       insertToken,
	"insertAuthor":      insertAuthor,
	"replacePayload":    replacePayload,
	"deleteRange":       deleteRange,
	"selectStamps":      selectStamps,
	"selectStamp":       selectStamp,
	"selectEntries":     selectEntries,
	"selectBack":        selectBack,
	"selectToken":       selectToken,
	"selectTokens":      selectTokens,
	"selectAuthor":      selectAuthor,
	"selectAuthors":     selectAuthors,
	"insertRoot":        insertRoot,
	"selectRoots":       selectRoots,
	"insertPastCounter": insertPastCounter,
	"insertPastAuthor":  insertPastAuthor,
	"insertDevice":      insertDevice,
	"selectPastCounter": selectPastCounter,
	"selectPastAuthor":  selectPastAuthor,
	"selectPastAuthors": selectPastAuthors,
	"selectDevice":      selectDevice,
	"insertKnown":       insertKnown,
	"selectKnown":       selectKnown,
	"selectRecordTail":  selectRecordTail,
	"beginRecordTail":   beginRecordTail,
	"moveRecordTail":    moveRecordTail,
	"insertRecord":      insertRecord,
	"selectRecord":      selectRecord,
	"selectRecords":     selectRecords,
	"dropRef":           dropRef,
	"deleteBucket":      deleteBucket,
	"selectTails":       selectTails,
	"selectPartition":   selectPartition,
	"beginPartition":    beginPartition,
	"takePartition":     takePartition,
	"moveCheckpoint":    moveCheckpoint,
}

// Each statement of servers that changes what a frozen log has names a column that is renamed, so Cassandra refuses it. Those that read entries and tails do not, until the
// log is retired.
func TestStatementsNameColumnsThatAreRenamed(t *testing.T) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "statements.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	checked, err := (&types.Config{}).Check("statements", files, []*ast.File{file}, nil)
	if err != nil {
		t.Fatal(err)
	}
	reads := []string{"selectState", "selectEntries", "selectBack", "selectAuthor", "selectAuthors", "selectStamps"}
	// They change the state of a segment. What they have beside it in a batch names a column (TestChangesOfStatesAreRefused).
	states := []string{"beginState", "moveState"}
	verb := regexp.MustCompile(`^(SELECT|INSERT|UPDATE|DELETE) `)
	refused := 0
	for _, name := range checked.Scope().Names() {
		if !verb.MatchString(constant.StringVal(checked.Scope().Lookup(name).(*types.Const).Val())) {
			continue
		}
		statement := statements[name]
		if statement == "" {
			t.Errorf("%s is not in the list of statements", name)
		}
		frozen, retired := renames(frozenColumns).in(statement), renames(slices.Concat(frozenColumns, retiredColumns)).in(statement)
		onTimelines := strings.Contains(statement, " segments ")
		serves := !onTimelines && !regexp.MustCompile(` (records|partitions)\b`).MatchString(statement) || slices.Contains(reads, name) || slices.Contains(states, name)
		if serves != (frozen == statement) {
			t.Errorf("%s: on a frozen log it is %q", name, frozen)
		}
		if onTimelines && retired == frozen {
			t.Errorf("%s: on a retired log it is %q", name, retired)
		}
		if !serves {
			refused++
		}
	}
	if refused < 10 {
		t.Errorf("a frozen log refuses %d statements", refused)
	}
}

// A frozen log refuses batches that change nothing but a state, as when all entries are kept.
func TestBatchesOfStatesAreRefused(t *testing.T) {
	l, k := &Log{session: &gocql.Session{}}, timeline.Key{Kind: timeline.Conversation, ID: 1}
	s := state{version: 3, first: 1, tail: timeline.Tail{Seq: 9, FirstSeq: 2}}
	for name, b := range map[string]batch{
		"a first state":         l.stateBatch(t.Context(), k, &state{}, &state{}),
		"another state":         l.stateBatch(t.Context(), k, &s, &state{}),
		"a head, all kept":      l.dropBatch(t.Context(), k, s, 4, []uint64{2, 3}),
		"a head, some are kept": l.dropBatch(t.Context(), k, s, 6, []uint64{3}),
	} {
		if !slices.ContainsFunc(b.Entries, func(e gocql.BatchEntry) bool { return renames(frozenColumns).in(e.Stmt) != e.Stmt }) {
			t.Errorf("%s: no statement is refused: %+v", name, b.Entries)
		}
	}
}

// Each batch with a change of a state has a statement that a frozen log refuses.
func TestChangesOfStatesAreRefused(t *testing.T) {
	// By function, which statement that is. In appends and posts there is always an entry, and a replacement without an entry is not stored.
	beside := map[string]string{"Log.stateBatch": "deleteRange", "batchBuilder.execute": "insertEntry", "postBatch.step": "insertEntry", "Log.replaceIn": "replacePayload"}
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil || !mentions(f.Body, "updateState") {
				continue
			}
			found++
			name := strings.TrimPrefix(types.ExprString(f.Recv.List[0].Type), "*") + "." + f.Name.Name
			statement := beside[name]
			if statement == "" || !mentions(f.Body, statement) || renames(frozenColumns).in(statements[statement]) == statements[statement] {
				t.Errorf("%s changes a state, and has no statement beside it that a frozen log refuses: use stateBatch", name)
			}
		}
	}
	if found != len(beside) {
		t.Errorf("%d functions change states, want %d", found, len(beside))
	}
}

// mentions reports whether a body has a name.
func mentions(body *ast.BlockStmt, name string) (found bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && id.Name == name
		return !found
	})
	return found
}
