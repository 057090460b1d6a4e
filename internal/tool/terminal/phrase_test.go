package terminal

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	moderationv1 "github.com/rialto-im/rialto/sdk/go/gen/moderation/v1"
)

var (
	verbs    = regexp.MustCompile(`%[-+.0-9]*[a-z%]`)
	notWords = regexp.MustCompile(`%[-+.0-9]*[a-z%]|/[a-z]+|\b[A-Z]+\b`) // verbs, commands, and what stands for what is typed
	word     = regexp.MustCompile(`[a-zA-Z]{2,}`)
	typed    = strings.NewReplacer("rialto chat", "", postUse, "") // as it is in both languages
	sentence = regexp.MustCompile(`[a-z]{2,},? [a-z]{2,}`)
)

// TestPhrasesHaveBothLanguages: whatever the client says has a form in Chinese, of the same values, and there is no other one. Only what errors_test.go and text_test.go look at is
// said otherwise.
func TestPhrasesHaveBothLanguages(t *testing.T) {
	used := map[string]bool{}
	use := func(where, english string) {
		if !word.MatchString(notWords.ReplaceAllString(english, "")) {
			if english != "; /save %d" {
				return
			}
		}
		used[english] = true
		if chinese := chinesePhrases[english]; chinese == "" || !slices.Equal(verbs.FindAllString(chinese, -1), verbs.FindAllString(english, -1)) {
			t.Errorf("%s: %q is %q in Chinese", where, english, chinese)
		}
	}
	for name, tree := range clientFiles(t) {
		spoken := map[*ast.BasicLit]bool{}
		ast.Inspect(tree, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			at := 0
			switch calledName(call) {
			case "phrase", "phrasef", "say":
			case "dated":
				at = 1
			case "errorf":
				spoken[call.Args[0].(*ast.BasicLit)] = true
				return true
			default:
				return true
			}
			if literal, ok := call.Args[at].(*ast.BasicLit); ok {
				spoken[literal] = true
				use(name, unquoted(t, literal))
			}
			return true
		})
		if slices.Contains([]string{"command.go", "organize.go", "manage_official.go", "help.go"}, name) { // tables of commands
			continue
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING && !spoken[literal] && sentence.MatchString(typed.Replace(unquoted(t, literal))) && chinesePhrases[unquoted(t, literal)] == "" {
				t.Errorf("%s says %s in English only: use phrase", name, literal.Value)
			}
			return true
		})
	}
	for _, english := range phrasesOfTables() {
		use("a table", english)
	}
	for english := range chinesePhrases {
		if !used[english] {
			t.Errorf("nothing says %q", english)
		}
	}
	if len(used) < 300 {
		t.Errorf("%d phrases were found", len(used))
	}
}

// phrasesOfTables are the words that are looked up by a value.
func phrasesOfTables() (list []string) {
	for _, w := range searchHeadings {
		list = append(list, w)
	}
	for _, w := range statusWords {
		list = append(list, w)
	}
	for _, w := range actionWords {
		list = append(list, w)
	}
	for _, w := range audienceNotes {
		list = append(list, w)
	}
	for _, w := range policyWords {
		list = append(list, w)
	}
	for _, w := range hotWindows {
		list = append(list, w.when)
	}
	for _, w := range broadcastStates {
		list = append(list, w)
	}
	for _, w := range matchWords {
		list = append(list, w)
	}
	for _, w := range officialRoles {
		list = append(list, w)
	}
	for w := range adders {
		list = append(list, w)
	}
	for w := range audiences {
		list = append(list, w)
	}
	for r := range chatv1.Role_name {
		list = append(list, roleWord(chatv1.Role(r)))
	}
	for r := range moderationv1.ReportReason_name {
		list = append(list, reasonWord(moderationv1.ReportReason(r)))
	}
	return list
}

// clientFiles are the sources of the client, without tests and texts in Chinese.
func clientFiles(t *testing.T) map[string]*ast.File {
	t.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]*ast.File{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "_zh.go") {
			continue
		}
		if files[name], err = parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// calledName is the name of the function or method that is called.
func calledName(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

func unquoted(t *testing.T, literal *ast.BasicLit) string {
	t.Helper()
	if literal.Kind != token.STRING {
		return ""
	}
	text, err := strconv.Unquote(literal.Value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Counted things have their words in Chinese.
func TestCountedThingsHaveBothLanguages(t *testing.T) {
	used := map[string]bool{}
	for name, tree := range clientFiles(t) {
		ast.Inspect(tree, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || !slices.Contains([]string{"counted", "countedWithOwn", "countedUpTo"}, calledName(call)) {
				return true
			}
			for _, a := range call.Args[1:] {
				if literal, ok := a.(*ast.BasicLit); ok && literal.Kind == token.STRING {
					if used[unquoted(t, literal)] = true; chineseUnits[unquoted(t, literal)] == "" {
						t.Errorf("%s counts %s, which has no word in Chinese", name, literal.Value)
					}
				}
			}
			return true
		})
	}
	for _, u := range keptUnits {
		used[u.name] = true
	}
	for english := range chineseUnits {
		if !used[english] {
			t.Errorf("nothing counts %q", english)
		}
	}
}

// The screen follows the language of the environment.
func TestTheScreenIsInTwoLanguages(t *testing.T) {
	s := newScreen()
	s.people[7] = person{"bob", "Bob"}
	at := time.Date(2026, time.January, 5, 9, 30, 0, 0, time.Local)
	file := &chatv1.Message{Sender: 7, Seq: 3, TimeMs: at.UnixMilli(), EditedMs: 1, Content: &chatv1.Content{Kind: &chatv1.Content_File{File: &chatv1.Media{Name: "a.txt", Size: 12}}}}
	for language, want := range map[string][]string{
		"en_GB.UTF-8": {"Bob: [file a.txt, 12 bytes; /save 3]", "  (edited)", "you silenced Bob until 5 January, 09:30", "Monday, 5 January 2026", "1 post", "you set messages to disappear after 7 days", "99+ notifications"},
		"zh_CN.UTF-8": {"Bob: [文件 a.txt, 12 字节；/save 3]", "  (已编辑)", "你将Bob禁言至 1月5日 09:30", "2026年1月5日 星期一", "1 条动态", "你设置消息在 7 天后消失", "99+ 条通知"},
	} {
		t.Setenv("LC_ALL", language)
		line := s.lineOf(t, file)
		s.people[s.client.User()] = person{}
		muted := &chatv1.Control{Action: chatv1.Control_ACTION_MUTED, Actor: s.client.User(), Users: []uint64{7}, UntilMs: at.UnixMilli()}
		kept := &chatv1.Control{Action: chatv1.Control_ACTION_RETENTION, Actor: s.client.User(), RetentionDays: 7}
		got := []string{line, updateMarks(file), s.control(t.Context(), muted), dated(at, "Monday, 2 January 2006"), counted(1, "post"), s.control(t.Context(), kept), countedUpTo(100, "notification", mostUnread)}
		if !slices.Equal(got, want) {
			t.Errorf("%s:\ngot  %q\nwant %q", language, got, want)
		}
	}
}
