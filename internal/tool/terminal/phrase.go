package terminal

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/base/printable"
)

// phrase returns a text of the client in the user's language. chinesePhrases has each text that has words.
func phrase(english string) string {
	if speaksChinese() {
		if chinese, ok := chinesePhrases[english]; ok {
			return chinese
		}
	}
	return english
}

// phrasef formats a text of the client in the user's language.
func phrasef(english string, args ...any) string { return fmt.Sprintf(phrase(english), args...) }

// counted is a number of things. It is given one thing's name in English.
func counted[N uint32 | uint64 | int | int64](n N, what string) string {
	if speaksChinese() {
		return strconv.FormatInt(int64(n), 10) + " " + chineseUnits[what]
	}
	return printable.Count(n, what)
}

var chineseWeekdays = strings.NewReplacer("Monday", "星期一", "Tuesday", "星期二", "Wednesday", "星期三", "Thursday", "星期四", "Friday", "星期五", "Saturday", "星期六", "Sunday", "星期日")

// dated formats a time in the user's language. Its layout is one in English.
func dated(t time.Time, layout string) string {
	text := t.Format(phrase(layout))
	if speaksChinese() {
		return chineseWeekdays.Replace(text)
	}
	return text
}
