package terminal

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	rialto "github.com/rialto-im/rialto/sdk/go"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

var update = flag.Bool("update", false, "rewrite refusals_zh.txt")

// chineseTexts are the Chinese texts of the web app, by their keys.
func chineseTexts(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../../../web/src/text/*.ts")
	if err != nil || len(files) == 0 {
		t.Fatalf("the web app has no texts: %v", err)
	}
	begin, entry := regexp.MustCompile(`(?m)^export const (zh|\w+Zh)\b.*$`), regexp.MustCompile(`(?m)^  (\w+): ("(?:[^"\\]|\\.)*"),$`)
	texts := map[string]string{}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		at := begin.FindIndex(b)
		if at == nil {
			continue // English
		}
		of, _, _ := bytes.Cut(b[at[1]:], []byte("\n};"))
		for _, m := range entry.FindAllSubmatch(of, -1) {
			if texts[string(m[1])], err = strconv.Unquote(string(m[2])); err != nil {
				t.Fatalf("%s: %s: %v", f, m[0], err)
			}
		}
	}
	return texts
}

// TestRefusalsAreThoseOfTheWebApp: each refusal that the web app has a text for has the same one here.
func TestRefusalsAreThoseOfTheWebApp(t *testing.T) {
	b, err := os.ReadFile("../../../web/src/errors.ts")
	if err != nil {
		t.Fatal(err)
	}
	_, known, _ := strings.Cut(string(b), "export const known")
	known, _, _ = strings.Cut(known, "\n};")
	texts, list := chineseTexts(t), map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^  (\w+): "(\w+)",$`).FindAllStringSubmatch(known, -1) {
		if list[m[1]] = texts[m[2]]; list[m[1]] == "" {
			t.Errorf("%s has no Chinese text %s", m[1], m[2])
		}
	}
	if len(list) < 200 {
		t.Fatalf("%d refusals were found", len(list))
	}
	var all strings.Builder
	for _, reason := range slices.Sorted(maps.Keys(list)) {
		fmt.Fprintf(&all, "%s\t%s\n", reason, list[reason])
	}
	if *update {
		if err := os.WriteFile("refusals_zh.txt", []byte(all.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if all.String() != chineseRefusals {
		t.Error("refusals_zh.txt does not have the texts of the web app; run make generate")
	}
}

// TestRefusalsAreInTheUsersLanguage: what the server refuses is shown in Chinese where that is the user's language, and as the server says it otherwise.
func TestRefusalsAreInTheUsersLanguage(t *testing.T) {
	call := func(code connect.Code, reason, message string) error {
		err := connect.NewError(code, fmt.Errorf("%s", message))
		detail, failed := connect.NewErrorDetail(&gatewayv1.Error{Reason: reason, RetryMs: uint32((48 * time.Hour).Milliseconds())})
		if failed != nil {
			t.Fatal(failed)
		}
		err.AddDetail(detail)
		return err
	}
	for _, c := range []struct {
		err              error
		english, chinese string
	}{
		{call(connect.CodeUnauthenticated, "bad_login", "handle or password is wrong"), "handle or password is wrong", "用户名或密码不正确。"},
		{&rialto.SendError{Code: "permission_denied", Reason: "blocked", Message: "you are blocked"}, "you are blocked", "无法给对方发消息。"},
		{call(connect.CodePermissionDenied, "of_a_later_version", "you may not\x1b[2J"), "you may not[2J", "你没有权限这样做。"},
		{call(connect.CodeInvalidArgument, "for_programs", "the field is wrong"), "the field is wrong", "the field is wrong"},
		{call(connect.CodeInvalidArgument, "bad_csv", "one\x1b column"), "one\x1b column", "CSV 格式不符：one column。"},
		{call(connect.CodeResourceExhausted, "post_quota", "tomorrow"), "tomorrow", "你今天发布的动态太多，" + time.Now().Add(48*time.Hour).Format("2006-01-02 15:04") + "之后可以再发布。"},
		{connect.NewError(connect.CodeUnavailable, fmt.Errorf("dial")), "the server cannot be reached: dial", "无法连接服务器：dial"},
		{errorf("there is no user @%s", "b\x1bob"), "there is no user @bob", "没有用户 @bob"},
		{fmt.Errorf("beside: %w", errNoChat), "beside: no chat is open; /open one first", "没有打开的会话，请先用 /open 打开一个"},
		{rialto.ErrSignedOut, "your session has ended; start again to log in", "登录已失效，请重新启动并登录"},
	} {
		t.Setenv("LC_ALL", "C")
		if got := explain(c.err); got != plain(c.english) {
			t.Errorf("%v is shown as %q, want %q", c.err, got, c.english)
		}
		t.Setenv("LC_ALL", "zh_CN.UTF-8")
		if got := explain(c.err); got != c.chinese {
			t.Errorf("%v is shown as %q, want %q", c.err, got, c.chinese)
		}
	}
	t.Setenv("LC_ALL", "zh_CN.UTF-8")
	if got := refusalIn(&gatewayv1.Error{Code: "permission_denied", Reason: "kicked", Message: "kicked"}).text(); got != "管理员已将你移出直播间，时间到后可以再来。" {
		t.Errorf("a refusal within a connection is shown as %q", got)
	}
}
