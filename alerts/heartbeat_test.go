package alerts

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// The address of a heartbeat is its password: whoever knows it can keep the switch from falling.
func TestHeartbeatErrorsHideTheAddress(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	err := NewTelling(TellingConfig{}).ping(t.Context(), gone.URL+"/ping/T0KEN")
	if err == nil || strings.Contains(err.Error(), "T0KEN") || !strings.Contains(err.Error(), strings.TrimPrefix(gone.URL, "http://")) {
		t.Errorf("nobody there: %v", err)
	}
}
