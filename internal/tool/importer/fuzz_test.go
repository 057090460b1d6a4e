package importer_test

import (
	"maps"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/tool/importer"
	"github.com/rialto-im/rialto/internal/tool/interchangefile"
)

// An export is refused, or becomes a directory that can be read, whatever it has: nobody but the other server has checked it.
func FuzzExports(f *testing.F) {
	files := map[string][2]string{
		"slack":      {"channels.json", "C1/2020-09-13.json"},
		"mattermost": {"import.jsonl", "data/x"},
		"openim":     {"group.json", "msg.json"},
		"wukongim":   {"channels.jsonl", "messages.jsonl"},
	}
	// Without these, an export is refused before the others are read.
	required := map[string]map[string]string{
		"openim":   {"user.json": `{"user_id":"u1"}`, "group_member.json": `{"group_id":"g","user_id":"u1","role_level":100}`},
		"wukongim": {"users.jsonl": `{"uid":"u1"}`},
	}
	good := map[string][2]string{
		"slack":      {`[{"id":"C1","created":1600000000,"members":["U1"]}]`, `[{"type":"message","user":"U1","text":"Hi <@U2|b> <!here> <http://a|b>","ts":"1600000001.000100","files":[{"id":"F1","name":"a"}]}]`},
		"mattermost": {mattermostExport, "text"},
		"openim":     {`{"group_id":"g","creator_user_id":"u1","create_time":{"$date":{"$numberLong":"1600000000000"}}}`, `{"doc_id":"d:0","msgs":[{"msg":{"send_id":"u1","group_id":"g","client_msg_id":"m1","session_type":3,"content_type":101,"content":"{\"content\":\"hello\"}","send_time":{"$numberLong":"1600000001000"}}}]}`},
		"wukongim":   {`{"channel_id":"g","channel_type":2,"subscribers":["u1"]}`, `{"message_id":1,"from_uid":"u1","channel_id":"g","channel_type":2,"timestamp":1600000001,"payload":"eyJ0eXBlIjoxLCJjb250ZW50IjoiaGVsbG8ifQ=="}`},
	}
	for format, texts := range good {
		f.Add(format, texts[0], texts[1])
		f.Add(format, "[", "\xff")
	}
	f.Fuzz(func(t *testing.T, format, first, second string) {
		names, known := files[format]
		if !known {
			return
		}
		from, to := t.TempDir(), t.TempDir()
		export := map[string]string{names[0]: first, names[1]: second}
		maps.Copy(export, required[format])
		for name, text := range export {
			name = filepath.Join(from, filepath.FromSlash(name))
			must(t, os.MkdirAll(filepath.Dir(name), 0o700))
			must(t, os.WriteFile(name, []byte(text), 0o600))
		}
		isGood := good[format] == [2]string{first, second}
		if err := importer.Convert(t.Context(), importer.Converters()[format], format, from, to, now, 1<<20); err != nil {
			if isGood {
				t.Errorf("a good export of %s is refused: %v", format, err)
			}
			return
		}
		c := read(t, to)
		if isGood && len(c.entries) == 0 {
			t.Errorf("a good export of %s has no entries; skipped: %+v", format, c.skipped)
		}
		for _, e := range c.entries {
			if text := e.Text; !utf8.ValidString(text) || utf8.RuneCountInString(text) > 100_000 || e.Kind == interchangefile.Text && text == "" {
				t.Errorf("the entry %+v cannot be sent", e)
			}
		}
	})
}
