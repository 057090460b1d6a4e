package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// llm is a language model behind an API of chat completions.
type llm struct{ address, key string }

// complete has the model answer a question, and calls write with each piece of the answer. It fails if the answer does not come to its end.
func (l llm) complete(ctx context.Context, question string, write func(delta string) error) error {
	body, err := json.Marshal(map[string]any{"model": "default", "stream": true, "messages": []map[string]string{{"role": "user", "content": question}}})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, l.address, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	if l.key != "" {
		request.Header.Set("Authorization", "Bearer "+l.key)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the model answers %s", answer.Status)
	}
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		if data == "[DONE]" {
			return nil
		}
		var event struct {
			Choices []struct {
				Delta struct{ Content string }
			}
		}
		if err := json.Unmarshal([]byte(data), &event); err != nil {
			return err
		}
		for _, c := range event.Choices {
			if err := write(c.Delta.Content); err != nil {
				return err
			}
		}
	}
	return errors.Join(errors.New("the model's answer was cut off"), lines.Err())
}
