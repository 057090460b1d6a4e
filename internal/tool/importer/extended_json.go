package importer

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// number reads an integer in any form of MongoDB's extended JSON: a number, a text, {"$numberLong": "1"}, {"$numberInt": "1"}, or {"$date": …} in
// milliseconds since 1970.
type number int64

// numberDepth is how many objects are around a number: {"$date": {"$numberLong": "1"}}. Each is read again for the one within it.
const numberDepth = 2

// UnmarshalJSON reads one.
func (n *number) UnmarshalJSON(b []byte) error { return n.read(b, numberDepth) }

func (n *number) read(b []byte, depth int) error {
	text := strings.TrimSpace(string(b))
	if text == "null" {
		return nil
	}
	if strings.HasPrefix(text, "{") && depth > 0 {
		var form struct {
			Long *json.RawMessage `json:"$numberLong"`
			Int  *json.RawMessage `json:"$numberInt"`
			Date *json.RawMessage `json:"$date"`
		}
		if err := json.Unmarshal(b, &form); err != nil {
			return err
		}
		for _, inner := range []*json.RawMessage{form.Long, form.Int, form.Date} {
			if inner != nil {
				return n.read(*inner, depth-1)
			}
		}
		return fmt.Errorf("%.100s is no number", text)
	}
	text = strings.Trim(text, `"`)
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		*n = number(t.UnixMilli())
		return nil
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil && f > -1e18 && f < 1e18 {
		v, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			v = int64(f)
		}
		*n = number(v)
		return nil
	}
	return fmt.Errorf("%.100q is no number", text)
}
