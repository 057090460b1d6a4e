package errs

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

// httpStatuses of the kinds; Internal, and any other, is 500.
var httpStatuses = map[Kind]int{Invalid: http.StatusBadRequest, NotFound: http.StatusNotFound, Conflict: http.StatusConflict, Denied: http.StatusForbidden,
	Unauthenticated: http.StatusUnauthorized, Exhausted: http.StatusTooManyRequests, Unavailable: http.StatusServiceUnavailable}

// WriteHTTP answers a plain HTTP request with an error, in the JSON form that Connect uses: code, reason and message. Retry becomes the
// header Retry-After, in whole seconds.
func WriteHTTP(w http.ResponseWriter, err error) {
	e := Of(err)
	status, ok := httpStatuses[e.Kind]
	if !ok {
		status = http.StatusInternalServerError
	}
	WriteHTTPStatus(w, e, status)
}

// WriteHTTPStatus is WriteHTTP with a status that the error's kind does not have.
func WriteHTTPStatus(w http.ResponseWriter, e *Error, status int) {
	w.Header().Set("Content-Type", "application/json")
	if e.Retry > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((e.Retry+time.Second-1)/time.Second)))
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"code": e.Kind.String(), "reason": e.Reason, "message": e.Message}) // the client may have disconnected
}
