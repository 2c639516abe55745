package web

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"monolith"
)

// metrics are Monolith's figures about itself, in a registry of its own.
type metrics struct {
	registry *prometheus.Registry
	polls    *prometheus.HistogramVec
	requests *prometheus.HistogramVec
}

func newMetrics(s *Server) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		polls: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "monolith_poll_seconds", Help: "Time that polls spent waiting for answers, by whether the status was read.",
			Buckets: []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5},
		}, []string{"result"}),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "monolith_http_request_seconds", Help: "Time to answer HTTP requests.",
			Buckets: []float64{0.001, 0.005, 0.02, 0.1, 0.5, 2, 10},
		}, []string{"method", "route", "status"}),
	}
	m.registry.MustRegister(m.polls, m.requests, selfCollector{s},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry, Timeout: 10 * time.Second})
}

// observe counts a poll.
func (m *metrics) observe(snap *monolith.Snapshot) {
	var took time.Duration
	for _, c := range snap.Costs {
		took += c.Took
	}
	result := "failed"
	if snap.Polled {
		result = "read"
	}
	m.polls.WithLabelValues(result).Observe(took.Seconds())
}

// request counts an HTTP request by its route's pattern: paths hold names and would never end.
func (m *metrics) request(method, route string, status int, took time.Duration) {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
	default:
		method = "other" // a client may make methods up
	}
	if route == "" {
		route = "none"
	}
	m.requests.WithLabelValues(method, route, strconv.Itoa(status)).Observe(took.Seconds())
}

// selfCollector asks the poller and the store when the metrics are read.
type selfCollector struct{ s *Server }

var (
	descInfo       = prometheus.NewDesc("monolith_info", "Always 1; the version is a label.", []string{"version"}, nil)
	descServers    = prometheus.NewDesc("monolith_servers", "Servers that are polled.", nil, nil)
	descInFlight   = prometheus.NewDesc("monolith_polls_in_flight", "Polls that run now.", nil, nil)
	descPolls      = prometheus.NewDesc("monolith_polls_total", "Polls that have ended, whatever came out.", nil, nil)
	descFailed     = prometheus.NewDesc("monolith_polls_failed_total", "Polls that ended without reading the status.", nil, nil)
	descSkipped    = prometheus.NewDesc("monolith_polls_skipped_total", "Polls not begun because the one before still ran.", nil, nil)
	descPanics     = prometheus.NewDesc("monolith_poll_panics_total", "Panics caught in collectors and handlers.", nil, nil)
	descConnects   = prometheus.NewDesc("monolith_server_connects_total", "Connections opened to monitored servers.", nil, nil)
	descStatements = prometheus.NewDesc("monolith_server_statements_total", "Statements sent to monitored servers.", nil, nil)
	descReceived   = prometheus.NewDesc("monolith_server_received_bytes_total", "Bytes received from monitored servers.", nil, nil)
	descStoreUp    = prometheus.NewDesc("monolith_store_up", "1 when the store answers.", nil, nil)
	descStore      = prometheus.NewDesc("monolith_store_bytes", "Size of the store on disk, without the write-ahead log.", nil, nil)
	descWAL        = prometheus.NewDesc("monolith_store_wal_bytes", "Size of the embedded store's write-ahead log.", nil, nil)
	descSpool      = prometheus.NewDesc("monolith_spool_bytes", "Bytes that wait in memory to be stored.", nil, nil)
	descSpoolPolls = prometheus.NewDesc("monolith_spool_polls", "Polls that wait in memory to be stored.", nil, nil)
	descDropped    = prometheus.NewDesc("monolith_spool_dropped_polls_total", "Polls lost because the spool was full.", nil, nil)
	descAppended   = prometheus.NewDesc("monolith_store_appended_polls_total", "Polls taken into history, stored or not.", nil, nil)
	descCommitted  = prometheus.NewDesc("monolith_store_committed_polls_total", "Polls stored.", nil, nil)
	descCommits    = prometheus.NewDesc("monolith_store_commits_total", "Transactions that stored polls.", nil, nil)
	descCommitBad  = prometheus.NewDesc("monolith_store_commit_errors_total", "Such transactions that failed and are tried again.", nil, nil)
	descCommitTime = prometheus.NewDesc("monolith_store_commit_seconds_total", "Time spent in them.", nil, nil)
	descLastCommit = prometheus.NewDesc("monolith_store_last_commit_timestamp_seconds", "When polls were last stored; missing before the first time.", nil, nil)
	descFailing    = prometheus.NewDesc("monolith_store_commits_failing", "1 while polls can't be stored.", nil, nil)
	descPacks      = prometheus.NewDesc("monolith_store_packs_total", "Runs of polls packed into blocks.", nil, nil)
	descPackBad    = prometheus.NewDesc("monolith_store_pack_errors_total", "Packings that failed and are tried again.", nil, nil)
	descPackTime   = prometheus.NewDesc("monolith_store_pack_seconds_total", "Time spent in packing.", nil, nil)
	descPurged     = prometheus.NewDesc("monolith_store_purged_rows_total", "Rows deleted because they were older than is kept.", nil, nil)
	descReads      = prometheus.NewDesc("monolith_store_reads_total", "Reads of history.", nil, nil)
	descReadTime   = prometheus.NewDesc("monolith_store_read_seconds_total", "Time spent in them.", nil, nil)
	descDamagedP   = prometheus.NewDesc("monolith_store_damaged_polls_total", "Kept polls that could not be read, each time that they were met.", nil, nil)
	descDamagedB   = prometheus.NewDesc("monolith_store_damaged_blocks_total", "Blocks of history that could not be read, whole or in part.", nil, nil)
	descTails      = prometheus.NewDesc("monolith_store_tail_bytes", "Bytes of polls in memory that no block holds yet.", nil, nil)
	descAlerts     = prometheus.NewDesc("monolith_alerts_open", "Alerts that are open now, by level.", []string{"level"}, nil)
	descStreams    = prometheus.NewDesc("monolith_live_streams", "Live streams that are open.", nil, nil)
)

// Describe sends nothing: the metrics depend on what answers, so they are not checked in advance.
func (c selfCollector) Describe(chan<- *prometheus.Desc) {}

// Collect reads the figures.
func (c selfCollector) Collect(out chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	counter := func(d *prometheus.Desc, v uint64) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v))
	}
	gauge(descInfo, 1, c.s.cfg.Version)
	st := c.s.poller.Stats()
	gauge(descServers, float64(st.Servers))
	gauge(descInFlight, float64(st.InFlight))
	counter(descPolls, st.Polls)
	counter(descFailed, st.Failed)
	counter(descSkipped, st.Skipped)
	counter(descPanics, st.Panics)
	counter(descConnects, st.Connects)
	counter(descStatements, st.Statements)
	counter(descReceived, st.Bytes)
	gauge(descStreams, float64(c.s.live.open()))
	if c.s.alerts != nil {
		open := map[monolith.Level]int{}
		for _, a := range c.s.alerts.Open() {
			open[a.Level]++
		}
		for _, level := range monolith.Levels {
			gauge(descAlerts, float64(open[level]), level.String())
		}
	}

	kept := c.s.store.Stats()
	counter(descAppended, kept.Appended)
	counter(descCommitted, kept.Committed)
	counter(descDropped, kept.Dropped)
	counter(descCommits, kept.Commits)
	counter(descCommitBad, kept.CommitErrors)
	counter(descPacks, kept.Packs)
	counter(descPackBad, kept.PackErrors)
	counter(descPurged, kept.PurgedRows)
	counter(descReads, kept.Reads)
	counter(descDamagedP, kept.DamagedPolls)
	counter(descDamagedB, kept.DamagedBlocks)
	for d, spent := range map[*prometheus.Desc]time.Duration{descCommitTime: kept.CommitTime, descPackTime: kept.PackTime, descReadTime: kept.ReadTime} {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, spent.Seconds())
	}
	if !kept.LastCommit.IsZero() {
		gauge(descLastCommit, float64(kept.LastCommit.UnixMilli())/1000)
	}
	failing := 0.0
	if !kept.FailingSince.IsZero() {
		failing = 1
	}
	gauge(descFailing, failing)
	gauge(descTails, float64(kept.TailBytes))
	gauge(descWAL, float64(kept.WALBytes))
	gauge(descSpool, float64(kept.SpoolBytes))
	gauge(descSpoolPolls, float64(kept.SpoolPolls))

	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	usage, err := c.s.store.Usage(ctx)
	if err != nil {
		c.s.log.Warn("store usage can't be read", "error", err)
		gauge(descStoreUp, 0)
		return
	}
	gauge(descStoreUp, 1)
	gauge(descStore, float64(usage.Bytes))
}
