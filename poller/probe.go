package poller

import (
	"context"

	"monolith"
)

// Test connects to a server as it would be watched and reports step by step. It uses a connection of
// its own, which it closes, and stays below 20 seconds.
func (p *Poller) Test(ctx context.Context, server monolith.Server) monolith.TestReport {
	return monolith.TestReport{}
}
