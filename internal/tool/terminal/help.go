package terminal

import (
	"cmp"
	"fmt"
	"os"
	"strings"
)

// usageWidth is the width of a command in the help. What is longer has its description on the next line.
const usageWidth = 32

const introduction = "A line is sent to the open chat. A line that ends with \\ continues on the next one;\na line that begins with // sends a text that begins with /. SEQ is the number of a message, shown as #12.\n" +
	"The Tab key completes commands, @handles, titles and files. NO_COLOR=1 turns colours off.\n"

// speaksChinese reports whether the user's environment is in Chinese. All that the client says follows it, but not the words that are typed.
func speaksChinese() bool {
	return strings.HasPrefix(cmp.Or(os.Getenv("LC_ALL"), os.Getenv("LC_MESSAGES"), os.Getenv("LANG")), "zh")
}

// help lists all commands, in English or in Chinese.
func help(chinese bool) string {
	var b strings.Builder
	title, about := func(part section) string { return part.title }, func(c command) string { return c.about }
	if chinese {
		b.WriteString(chineseIntroduction)
		title, about = func(part section) string { return chineseSections[part.title] }, func(c command) string { return chineseHelp[c.name] }
	} else {
		b.WriteString(introduction)
	}
	for _, part := range sections() {
		fmt.Fprintf(&b, "\n%s\n", title(part))
		for _, c := range part.commands {
			if c.about != "" {
				usage := strings.TrimRight("/"+c.name+" "+c.args, " ")
				if len(usage) > usageWidth {
					usage += "\n" + strings.Repeat(" ", 2+usageWidth)
				}
				fmt.Fprintf(&b, "  %-*s %s\n", usageWidth, usage, about(c))
			}
		}
	}
	return b.String()
}
