package store

import (
	"context"
	"errors"
	"time"

	"monolith"
)

var errNotReady = errors.New("store: not ready")

type DB struct{}

func Open(ctx context.Context, c Config) (*DB, error) { return nil, errNotReady }
func Migrate(ctx context.Context, c Config) error     { return errNotReady }
func (db *DB) Close() error                           { return errNotReady }
func (db *DB) Run(ctx context.Context) error          { return errNotReady }
func (db *DB) Ping(ctx context.Context) error         { return errNotReady }

func (db *DB) Servers(ctx context.Context) ([]monolith.Server, error) { return nil, errNotReady }
func (db *DB) Server(ctx context.Context, name string) (monolith.Server, error) {
	return monolith.Server{}, errNotReady
}
func (db *DB) AddServer(ctx context.Context, s *monolith.Server) error      { return errNotReady }
func (db *DB) UpdateServer(ctx context.Context, s *monolith.Server) error   { return errNotReady }
func (db *DB) DeleteServer(ctx context.Context, id monolith.ServerID) error { return errNotReady }
func (db *DB) OrderServers(ctx context.Context, group string, names []string) error {
	return errNotReady
}
func (db *DB) Groups(ctx context.Context) ([]monolith.Group, error)  { return nil, errNotReady }
func (db *DB) PutGroup(ctx context.Context, g monolith.Group) error  { return errNotReady }
func (db *DB) MoveGroup(ctx context.Context, from, to string) error  { return errNotReady }
func (db *DB) DeleteGroup(ctx context.Context, path string) error    { return errNotReady }
func (db *DB) OrderGroups(ctx context.Context, paths []string) error { return errNotReady }

func (db *DB) Append(snapshot *monolith.Snapshot) {}
func (db *DB) Resume(ctx context.Context, id monolith.ServerID) (seq uint64, run uint32, err error) {
	return 0, 0, errNotReady
}
func (db *DB) Read(ctx context.Context, q monolith.Query) (*monolith.Range, error) {
	return nil, errNotReady
}
func (db *DB) Changes(ctx context.Context, q ChangeQuery) ([]monolith.Change, error) {
	return nil, errNotReady
}
func (db *DB) TextsAt(ctx context.Context, id monolith.ServerID, namespace string, at time.Time) (map[string]string, error) {
	return nil, errNotReady
}
func (db *DB) Marks(ctx context.Context, q MarkQuery) ([]monolith.Mark, error) {
	return nil, errNotReady
}
func (db *DB) AddMark(ctx context.Context, m *monolith.Mark) error { return errNotReady }
func (db *DB) DeleteMark(ctx context.Context, id int64) error      { return errNotReady }
func (db *DB) Metrics(ctx context.Context, id monolith.ServerID) ([]monolith.Metric, error) {
	return nil, errNotReady
}
func (db *DB) MetricsSeen(ctx context.Context, id monolith.ServerID) ([]SeenMetric, error) {
	return nil, errNotReady
}
func (db *DB) LastState(ctx context.Context, id monolith.ServerID) (*monolith.State, error) {
	return nil, errNotReady
}
func (db *DB) Usage(ctx context.Context) (Usage, error)            { return Usage{}, errNotReady }
func (db *DB) Retention(ctx context.Context) (Retention, error)    { return Retention{}, errNotReady }
func (db *DB) SetRetention(ctx context.Context, r Retention) error { return errNotReady }
func (db *DB) Estimate(ctx context.Context, r Retention) (Estimate, error) {
	return Estimate{}, errNotReady
}
func (db *DB) Graphs(ctx context.Context) ([]SavedGraph, error)        { return nil, errNotReady }
func (db *DB) PutGraph(ctx context.Context, g *SavedGraph) error       { return errNotReady }
func (db *DB) DeleteGraph(ctx context.Context, id int64) error         { return errNotReady }
func (db *DB) Setting(ctx context.Context, key string) (string, error) { return "", errNotReady }
func (db *DB) SetSetting(ctx context.Context, key, value string) error { return errNotReady }
func (db *DB) Stats() Stats                                            { return Stats{} }
