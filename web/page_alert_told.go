package web

import (
	"context"
	"errors"

	"monolith"
)

// alertTold is who is told of an alert and who was.
type alertTold struct {
	Audience   []monolith.Audience
	Deliveries []deliveryLine
	More       bool // messages that are left out
}

// mostTold is how many messages stand on the page of their alert.
const mostTold = 50

// toldOf reads who is told of an alert; nil: nobody could be.
func (s *Server) toldOf(ctx context.Context, b *pageBase, id monolith.AlertID) (*alertTold, error) {
	if s.cfg.Telling == nil {
		return nil, nil
	}
	t := &alertTold{}
	var err error
	t.Audience, err = s.cfg.Telling.Who(ctx, id)
	if err != nil && !errors.Is(err, monolith.ErrNotFound) {
		if err = b.unread(err, "who is told of it"); err != nil {
			return nil, err
		}
	}
	list, err := s.cfg.Telling.Deliveries(ctx, monolith.DeliveryQuery{Alert: id, Limit: mostTold + 1})
	if err = b.unread(err, "what was told of it"); err != nil {
		return nil, err
	}
	if len(list) > mostTold {
		list, t.More = list[:mostTold], true
	}
	t.Deliveries, _, err = s.viewDeliveries(ctx, list)
	return t, b.unread(err, "the channels")
}
