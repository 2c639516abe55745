package store

import (
	"context"
	"math"
	"slices"

	"github.com/jmoiron/sqlx"

	"monolith"
	"monolith/store/history"
)

// hourRow is a row of table hourly: the main series of the default graphs, for people with a SQL client.
type hourRow struct {
	server monolith.ServerID
	start  int64 // unix seconds
	values []any // one for each of hourColumns; nil: no value
}

// hourColumn is how a column of table hourly is made.
type hourColumn struct {
	name    string
	figure  func(cells [][]history.Cell) float64 // cells of one hour: per metric, of each instance; NaN: no value
	metrics []string
}

// hourColumns are the columns of table hourly, in its order.
var hourColumns = []hourColumn{
	{"availability_percent", percentAvg, []string{"server.polled"}},
	{"uptime_seconds", last, []string{"status.Uptime"}},
	{"questions_rate", rate, []string{"status.Questions"}},
	{"queries_rate", rate, []string{"status.Queries"}},
	{"slow_queries_rate", rate, []string{"status.Slow_queries"}},
	{"select_rate", rate, []string{"status.Com_select"}},
	{"insert_rate", rate, []string{"status.Com_insert", "status.Com_insert_select"}},
	{"update_rate", rate, []string{"status.Com_update", "status.Com_update_multi"}},
	{"delete_rate", rate, []string{"status.Com_delete", "status.Com_delete_multi"}},
	{"replace_rate", rate, []string{"status.Com_replace", "status.Com_replace_select"}},
	{"commit_rate", rate, []string{"status.Com_commit"}},
	{"rollback_rate", rate, []string{"status.Com_rollback"}},
	{"connections_rate", rate, []string{"status.Connections"}},
	{"aborted_connects_rate", rate, []string{"status.Aborted_connects"}},
	{"aborted_clients_rate", rate, []string{"status.Aborted_clients"}},
	{"max_used_connections", greatest, []string{"status.Max_used_connections"}},
	{"threads_connected_avg", average, []string{"status.Threads_connected"}},
	{"threads_connected_max", greatest, []string{"status.Threads_connected"}},
	{"threads_running_avg", average, []string{"status.Threads_running"}},
	{"threads_running_max", greatest, []string{"status.Threads_running"}},
	{"threads_cached_avg", average, []string{"status.Threads_cached"}},
	{"threads_created_rate", rate, []string{"status.Threads_created"}},
	{"tmp_tables_rate", rate, []string{"status.Created_tmp_tables"}},
	{"tmp_disk_tables_rate", rate, []string{"status.Created_tmp_disk_tables"}},
	{"tmp_files_rate", rate, []string{"status.Created_tmp_files"}},
	{"sort_merge_passes_rate", rate, []string{"status.Sort_merge_passes"}},
	{"open_tables_avg", average, []string{"status.Open_tables"}},
	{"opened_tables_rate", rate, []string{"status.Opened_tables"}},
	{"buffer_pool_requests_rate", rate, []string{"status.Innodb_buffer_pool_read_requests"}},
	{"buffer_pool_reads_rate", rate, []string{"status.Innodb_buffer_pool_reads"}},
	{"buffer_pool_hit_percent", hit, []string{"status.Innodb_buffer_pool_reads", "status.Innodb_buffer_pool_read_requests"}},
	{"innodb_rows_read_rate", rate, []string{"status.Innodb_rows_read"}},
	{"innodb_row_lock_waits_rate", rate, []string{"status.Innodb_row_lock_waits"}},
	{"handler_read_rnd_next_rate", rate, []string{"status.Handler_read_rnd_next"}},
	{"select_scan_rate", rate, []string{"status.Select_scan"}},
	{"select_full_join_rate", rate, []string{"status.Select_full_join"}},
	{"query_cache_hits_rate", rate, []string{"status.Qcache_hits"}},
	{"query_cache_inserts_rate", rate, []string{"status.Qcache_inserts"}},
	{"bytes_received_rate", rate, []string{"status.Bytes_received"}},
	{"bytes_sent_rate", rate, []string{"status.Bytes_sent"}},
	{"cpu_user_percent", share, []string{"host.cpu_user_seconds_total", "host.cpu_seconds_total"}},
	{"cpu_system_percent", share, []string{"host.cpu_system_seconds_total", "host.cpu_seconds_total"}},
	{"cpu_iowait_percent", share, []string{"host.cpu_iowait_seconds_total", "host.cpu_seconds_total"}},
	{"load1_avg", average, []string{"host.load1"}},
	{"load1_max", greatest, []string{"host.load1"}},
	{"memory_total_bytes", last, []string{"host.memory_total_bytes"}},
	{"memory_available_min", least, []string{"host.memory_available_bytes"}},
	{"mysqld_resident_max", greatest, []string{"host.mysqld_resident_bytes"}},
	{"swap_used_max", greatest, []string{"host.swap_used_bytes"}},
	{"swap_in_rate", rate, []string{"host.swap_in_bytes_total"}},
	{"swap_out_rate", rate, []string{"host.swap_out_bytes_total"}},
	{"disk_read_bytes_rate", rate, []string{"host.disk_read_bytes_total"}},
	{"disk_written_bytes_rate", rate, []string{"host.disk_written_bytes_total"}},
	{"disk_reads_rate", rate, []string{"host.disk_reads_total"}},
	{"disk_writes_rate", rate, []string{"host.disk_writes_total"}},
	{"replica_delay_avg", average, []string{"replica.delay"}},
	{"replica_delay_max", greatest, []string{"replica.delay"}},
	{"data_bytes", last, []string{"schema.total_data_bytes"}},
	{"index_bytes", last, []string{"schema.total_index_bytes"}},
	{"binary_log_bytes", last, []string{"server.binary_log_bytes"}},
}

// increase sums the increases of a metric's instances and gives the longest time they cover.
func increase(instances []history.Cell) (sum, seconds float64) {
	sum, seconds = math.NaN(), 0
	for _, c := range instances {
		if c.Pairs == 0 {
			continue
		}
		if math.IsNaN(sum) {
			sum = 0
		}
		sum += c.Increase
		seconds = max(seconds, float64(c.Covered)/1000)
	}
	return sum, seconds
}

// rate is the increase of all metrics together per second; metrics that are not there count nothing.
func rate(cells [][]history.Cell) float64 {
	total := math.NaN()
	for _, instances := range cells {
		sum, seconds := increase(instances)
		switch {
		case math.IsNaN(sum) || seconds <= 0:
		case math.IsNaN(total):
			total = sum / seconds
		default:
			total += sum / seconds
		}
	}
	return total
}

// share is the increase of the first metric in percent of the second's.
func share(cells [][]history.Cell) float64 {
	part, _ := increase(cells[0])
	whole, _ := increase(cells[1])
	if whole <= 0 {
		return math.NaN()
	}
	return 100 * part / whole
}

// hit is what the misses in the first metric leave of the requests in the second.
func hit(cells [][]history.Cell) float64 { return max(0, 100-share(cells)) }

// readings folds the cells of the first metric's instances that hold readings; NaN where there are none.
func readings(cells [][]history.Cell, fold func(so, cell history.Cell) history.Cell, give func(history.Cell) float64) float64 {
	var so history.Cell
	for _, c := range cells[0] {
		if c.N == 0 {
			continue
		}
		if so.N == 0 {
			so = c
			continue
		}
		so = fold(so, c)
	}
	if so.N == 0 {
		return math.NaN()
	}
	return give(so)
}

func average(cells [][]history.Cell) float64 {
	return readings(cells,
		func(so, c history.Cell) history.Cell { so.Sum += c.Sum; so.N += c.N; return so },
		func(c history.Cell) float64 { return c.Sum / float64(c.N) })
}

func percentAvg(cells [][]history.Cell) float64 { return 100 * average(cells) }

func greatest(cells [][]history.Cell) float64 {
	return readings(cells,
		func(so, c history.Cell) history.Cell { so.Max = max(so.Max, c.Max); return so },
		func(c history.Cell) float64 { return c.Max })
}

func least(cells [][]history.Cell) float64 {
	return readings(cells,
		func(so, c history.Cell) history.Cell { so.Min = min(so.Min, c.Min); return so },
		func(c history.Cell) float64 { return c.Min })
}

func last(cells [][]history.Cell) float64 {
	return readings(cells,
		func(so, c history.Cell) history.Cell { so.Last += c.Last; return so },
		func(c history.Cell) float64 { return c.Last })
}

// hourRows makes the rows of those hours in a new block that were touched.
func (db *DB) hourRows(id monolith.ServerID, payload []byte, touched *history.Tier) ([]hourRow, error) {
	reader, err := history.OpenTier(payload)
	if err != nil {
		return nil, err
	}
	from, to, ok := touched.Span()
	if !ok {
		return nil, nil
	}
	byName := map[string][][]history.Cell{}
	there := reader.IDs()
	hours := map[int64]bool{}
	for _, c := range hourColumns {
		for _, name := range c.metrics {
			if _, done := byName[name]; done {
				continue
			}
			byName[name] = nil
			for _, metric := range db.names.named(name) {
				if _, ok := slices.BinarySearch(there, metric); !ok {
					continue
				}
				cells, err := reader.Cells(metric, nil)
				if err != nil {
					return nil, err
				}
				byName[name] = append(byName[name], cells)
				for _, cell := range cells {
					if cell.At >= from.UnixMilli() && cell.At < to.UnixMilli() {
						hours[cell.At] = true
					}
				}
			}
		}
	}
	var rows []hourRow
	for at := range hours {
		row := hourRow{server: id, start: at / 1000, values: make([]any, len(hourColumns))}
		for i, c := range hourColumns {
			cells := make([][]history.Cell, len(c.metrics))
			for j, name := range c.metrics {
				for _, instance := range byName[name] {
					k, ok := slices.BinarySearchFunc(instance, at, func(c history.Cell, at int64) int { return int(max(-1, min(1, c.At-at))) })
					if ok {
						cells[j] = append(cells[j], instance[k])
					}
				}
			}
			if v := c.figure(cells); !math.IsNaN(v) && !math.IsInf(v, 0) {
				row.values[i] = v
			}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// putHour writes a row of table hourly anew.
func (db *DB) putHour(ctx context.Context, tx *sqlx.Tx, row *hourRow) error {
	names := make([]string, len(hourColumns))
	for i := range hourColumns {
		names[i] = hourColumns[i].name
	}
	_, err := tx.ExecContext(ctx, db.dialect.upsert("hourly", []string{"server_id", "hour_start"}, names),
		append([]any{int64(row.server), row.start}, row.values...)...)
	return err
}
