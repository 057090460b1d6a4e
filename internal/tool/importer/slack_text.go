package importer

import (
	"strings"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/tool/interchangefile"
)

// slackText returns a text of Slack's markup as it is read, and whom it mentions.
func slackText(raw string) (string, []interchangefile.Mention) {
	var out strings.Builder
	var mentions []interchangefile.Mention
	at := 0 // characters
	write := func(text string) uint32 {
		out.WriteString(text)
		n := utf8.RuneCountInString(text)
		at += n
		return uint32(n)
	}
	for raw != "" {
		begin := strings.IndexByte(raw, '<')
		if begin < 0 {
			write(unescapeSlack(raw))
			break
		}
		write(unescapeSlack(raw[:begin]))
		end := strings.IndexByte(raw[begin:], '>')
		if end < 0 {
			write(unescapeSlack(raw[begin:]))
			break
		}
		inner := raw[begin+1 : begin+end]
		raw = raw[begin+end+1:]
		target, label, labelled := strings.Cut(inner, "|")
		switch {
		case strings.HasPrefix(target, "@"):
			m := interchangefile.Mention{Start: uint32(at), User: target[1:]}
			if label == "" {
				label = target[1:]
			}
			m.Length = write("@" + unescapeSlack(strings.TrimPrefix(label, "@")))
			mentions = append(mentions, m)
		case target == "!here", target == "!channel", target == "!everyone":
			m := interchangefile.Mention{Start: uint32(at), Everybody: true}
			m.Length = write("@" + target[1:])
			mentions = append(mentions, m)
		case strings.HasPrefix(target, "#"):
			if label == "" {
				label = target[1:]
			}
			write("#" + unescapeSlack(label))
		case labelled && label != target && label != "":
			write(unescapeSlack(label) + " (" + unescapeSlack(target) + ")")
		default:
			write(unescapeSlack(target))
		}
	}
	if len(mentions) > 100 {
		mentions = mentions[:100]
	}
	return out.String(), mentions
}

// unescapeSlack replaces the three entities that Slack has.
func unescapeSlack(text string) string {
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(text)
}

// emojis are those that people react with most, by the names that Slack and Mattermost have for them. Others keep their names.
var emojis = map[string]string{
	"+1": "👍", "thumbsup": "👍", "-1": "👎", "thumbsdown": "👎", "heart": "❤️", "tada": "🎉", "joy": "😂", "smile": "😄", "smiley": "😃", "grinning": "😀", "laughing": "😆",
	"rocket": "🚀", "eyes": "👀", "fire": "🔥", "100": "💯", "clap": "👏", "pray": "🙏", "raised_hands": "🙌", "ok_hand": "👌", "wave": "👋", "muscle": "💪", "thinking_face": "🤔",
	"white_check_mark": "✅", "heavy_check_mark": "✔️", "x": "❌", "cry": "😢", "sob": "😭", "open_mouth": "😮", "heart_eyes": "😍", "sunglasses": "😎", "slightly_smiling_face": "🙂",
	"wink": "😉", "sweat_smile": "😅", "rolling_on_the_floor_laughing": "🤣", "partying_face": "🥳", "warning": "⚠️", "bulb": "💡", "star": "⭐", "beers": "🍻", "coffee": "☕",
}

// emojiOf returns the emoji of a name, such as +1::skin-tone-2; :name: for others.
func emojiOf(name string) string {
	plain, _, _ := strings.Cut(name, "::")
	if e := emojis[plain]; e != "" {
		return e
	}
	if name = ":" + plain + ":"; len(name) > 32 {
		name = strings.ToValidUTF8(name[:32], "")
	}
	return name
}
