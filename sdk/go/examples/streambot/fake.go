package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/http"
	"strings"
	"time"
)

// fakePause is the time between two words of the fake model.
const fakePause = 50 * time.Millisecond

// startFake starts a server of chat completions, which repeats the last message word by word, until ctx ends. It returns its address.
func startFake(ctx context.Context) (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	server := &http.Server{Handler: http.HandlerFunc(fakeCompletion), ReadHeaderTimeout: 10 * time.Second}
	go func() { // ends with ctx
		<-ctx.Done()
		_ = server.Close() // its connections are this process's own
	}()
	go func() { // ends when the server is closed
		if err := server.Serve(listener); ctx.Err() == nil {
			log.Print(err)
		}
	}()
	return "http://" + listener.Addr().String() + "/v1/chat/completions", nil
}

func fakeCompletion(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Messages []struct{ Content string }
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&request); err != nil || len(request.Messages) == 0 {
		http.Error(w, "a request has messages", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	words := strings.SplitAfter("You said: "+request.Messages[len(request.Messages)-1].Content, " ")
	for _, word := range words {
		delta, err := json.Marshal(map[string]any{"choices": []any{map[string]any{"delta": map[string]string{"content": word}}}})
		if err != nil {
			return // words are JSON strings
		}
		if _, err := fmt.Fprintf(w, "data: %s\n\n", delta); err != nil {
			return // the bot is gone
		}
		w.(http.Flusher).Flush()
		select {
		case <-time.After(fakePause):
		case <-r.Context().Done():
			return
		}
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}
