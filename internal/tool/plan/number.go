package plan

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// parseNumber reads 50m, 1.5k, 2t, 20% and plain numbers.
func parseNumber(text string) (float64, error) {
	number := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(text)), ",", "")
	factor := 1.0
	for unit, f := range map[string]float64{"k": 1e3, "m": 1e6, "g": 1e9, "b": 1e9, "t": 1e12, "%": 0.01} {
		if rest, ok := strings.CutSuffix(number, unit); ok {
			number, factor = rest, f
			break
		}
	}
	x, err := strconv.ParseFloat(number, 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) || x < 0 || strings.ContainsAny(number, "xpe_") {
		return 0, fmt.Errorf("%q is not a number such as 250, 1.5k, 50m, 4t or 20%%", text)
	}
	return x * factor, nil
}

// number formats a number for people: 50 m, 1,389, 0.8.
func number(x float64) string {
	switch {
	case x >= 1e15:
		return short(x/1e15) + " P"
	case x >= 1e12:
		return short(x/1e12) + " T"
	case x >= 1e9:
		return short(x/1e9) + " G"
	case x >= 999_999.5:
		return short(x/1e6) + " M"
	case x >= 1000:
		s := strconv.FormatFloat(math.Round(x), 'f', -1, 64)
		return s[:len(s)-3] + "," + s[len(s)-3:]
	}
	return short(x)
}

// short formats a number with three digits at most.
func short(x float64) string {
	digits := 0
	for v := x; v < 100 && digits < 2; v *= 10 {
		digits++
	}
	if x > 0 && x < 0.1 {
		return strconv.FormatFloat(x, 'g', 2, 64)
	}
	return strings.TrimSuffix(strings.TrimRight(padded(strconv.FormatFloat(x, 'f', digits, 64)), "0"), ".")
}

// padded protects trailing zeros of whole numbers.
func padded(s string) string {
	if strings.Contains(s, ".") {
		return s
	}
	return s + "."
}

func percent(x float64) string { return number(x*100) + " %" }

// words is Sprintf that formats numbers for people.
func words(format string, args ...any) string {
	for i, a := range args {
		if x, ok := a.(float64); ok {
			args[i] = number(x)
		}
	}
	return fmt.Sprintf(format, args...)
}

func counted(x float64, one, many string) string {
	if x == 1 {
		return "1 " + one
	}
	return number(x) + " " + many
}

func nodesWord(x float64) string {
	if x > 0 && x < 0.01 {
		return "less than 0.01 nodes"
	}
	return counted(x, "node", "nodes")
}

func bytesWord(x float64) string {
	if x < 999_999.5 {
		return number(x) + " bytes"
	}
	return number(x) + "B"
}
