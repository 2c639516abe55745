package alerts

import (
	"context"
	"fmt"
)

// Reload reads again what people set for servers and groups: a server or group that was renamed, moved or removed took its
// settings, silences and windows along, or away. What can't be read stays as it was.
func (s *Service) Reload(ctx context.Context) error {
	if err := s.changing.take(ctx); err != nil {
		return err
	}
	defer s.changing.give()
	if err := s.reloadSettings(ctx); err != nil {
		return fmt.Errorf("alerts: reload settings: %w", err)
	}
	if err := s.reloadSilences(ctx); err != nil {
		return fmt.Errorf("alerts: reload silences: %w", err)
	}
	if err := s.reloadWindows(ctx); err != nil {
		return fmt.Errorf("alerts: reload maintenance windows: %w", err)
	}
	return nil
}
