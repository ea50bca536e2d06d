"""The best split of one column: a sweep of the threshold from the least value to the largest.

    minimise over the splits   W_L c(L) + W_R c(R)         W the weight of a side, c its impurity

What does not depend on the split is left out, so the sweeps maximise

    Gini            sum_k L_k^2 / W_L + sum_k R_k^2 / W_R                 L_k, R_k the weight of class k on each side
    entropy         sum_k L_k log L_k - W_L log W_L, and the same for R
    squared error   S^2 W / (W_L W_R)                                     S = sum over L of w_i (y_i - mean of the node)

The column comes as keys sorted by code, which suits small nodes, or as a histogram over the codes, which suits columns
with few codes; both consider the same splits, one between any two neighbouring values that occur. Missing rows are on
the right in one sweep and on the left in another; all missing rows against all others is a split, too. Of equal splits
the first column wins, then the smallest threshold, then missing rows on the right.

With whole weights the sums of squares of the Gini index are carried along exactly, one step a row; with others they are
summed anew for each split, because rounding would pile up. Scores that are not exact are compared by their first 36
binary digits: two columns that divide the rows alike add them up in different orders, and must not differ for that.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from maxmargin._loops.compiling import loop
from maxmargin._loops.trees.records import ANY_CUT, GINI, ROW_BITS, ROW_MASK, SCORE, NodeFacts, offer


@loop
def sweep_sorted_classes(
    keys: Any, known: int, node: NodeFacts, column: int, cut: int, missing_left: bool, left: Any, best: Any
) -> None:
    """Splits of rows with labels; `keys[:known]` are sorted, the rest are missing; `left` is room for a sum a class."""
    targets, totals, rules = node.targets, node.totals, node.rules
    n_classes, weight_all, weighted = targets.n_classes, totals[targets.n_classes], len(targets.weights) > 0
    criterion, quick = rules.criterion, targets.whole and rules.criterion == GINI
    left[:n_classes] = 0.0
    weight_left, rows_left = 0.0, 0
    if missing_left:
        for key in keys[known:]:
            row = key & ROW_MASK
            weight = targets.weights[row] if weighted else 1.0
            left[targets.labels[row]] += weight
            weight_left += weight
        rows_left = len(keys) - known
    squares_left, squares_right = 0.0, 0.0
    for k in range(n_classes):
        squares_left += left[k] * left[k]
        squares_right += (totals[k] - left[k]) * (totals[k] - left[k])
    previous = np.int64(keys[0] >> ROW_BITS)
    for i in range(np.uint64(known)):
        key = keys[i]
        code = np.int64(key >> ROW_BITS)
        if code != previous:
            cuts_here = cut == ANY_CUT or previous <= cut < code
            if cuts_here and _allowed(rows_left, len(keys), weight_left, weight_all, rules):
                if quick:
                    score = squares_left / weight_left + squares_right / (weight_all - weight_left)
                else:
                    score = _class_score(left, totals, weight_left, weight_all, n_classes, criterion, targets.whole)
                if score >= best[SCORE]:
                    offer(best, score, column, previous, missing_left, rows_left)
            previous = code
        row = key & ROW_MASK
        label = targets.labels[row]
        weight = targets.weights[row] if weighted else 1.0
        before = left[label]
        squares_left += weight * (2.0 * before + weight)
        squares_right += weight * (weight - 2.0 * (totals[label] - before))
        left[label] = before + weight
        weight_left += weight
        rows_left += 1
    if known < len(keys) and not missing_left and _allowed(rows_left, len(keys), weight_left, weight_all, rules):
        score = _class_score(left, totals, weight_left, weight_all, n_classes, criterion, targets.whole)
        offer(best, score, column, previous, False, rows_left)


@loop
def sweep_sorted_numbers(
    keys: Any, known: int, node: NodeFacts, column: int, cut: int, missing_left: bool, best: Any
) -> None:
    """Splits of rows with numbers; rows of one code are summed first, so that a histogram gives the same last digit."""
    targets, totals, rules = node.targets, node.totals, node.rules
    mean, weight_all, weighted = totals[0], totals[1], len(targets.weights) > 0
    sum_left, weight_left, rows_left = 0.0, 0.0, 0
    group_sum, group_weight = 0.0, 0.0
    if missing_left:
        for key in keys[known:]:
            row = key & ROW_MASK
            weight = targets.weights[row] if weighted else 1.0
            sum_left += weight * (targets.numbers[row] - mean)
            weight_left += weight
        rows_left = len(keys) - known
    previous = np.int64(keys[0] >> ROW_BITS)
    for i in range(np.uint64(known)):
        key = keys[i]
        code = np.int64(key >> ROW_BITS)
        if code != previous:
            sum_left, weight_left = sum_left + group_sum, weight_left + group_weight
            group_sum, group_weight = 0.0, 0.0
            cuts_here = cut == ANY_CUT or previous <= cut < code
            if cuts_here and _allowed(rows_left, len(keys), weight_left, weight_all, rules):
                score = _number_score(sum_left, weight_left, weight_all)
                if score >= best[SCORE]:
                    offer(best, score, column, previous, missing_left, rows_left)
            previous = code
        row = key & ROW_MASK
        weight = targets.weights[row] if weighted else 1.0
        group_sum += weight * (targets.numbers[row] - mean)
        group_weight += weight
        rows_left += 1
    sum_left, weight_left = sum_left + group_sum, weight_left + group_weight
    if known < len(keys) and not missing_left and _allowed(rows_left, len(keys), weight_left, weight_all, rules):
        offer(best, _number_score(sum_left, weight_left, weight_all), column, previous, False, rows_left)


@loop
def sweep_class_histogram(
    sums: Any, counts: Any, node: NodeFacts, column: int, cut: int, missing_left: bool, left: Any, best: Any
) -> None:
    """Splits of a column whose code c has `counts[c]` rows and class weights `sums[c * n_classes:]`."""
    targets, totals, rules, size = node.targets, node.totals, node.rules, len(counts) - 1
    n_rows, n_classes, weight_all = len(targets.labels), targets.n_classes, totals[targets.n_classes]
    criterion = rules.criterion
    left[:n_classes] = 0.0
    weight_left, rows_left = 0.0, 0
    if missing_left:
        weight_left += _add_classes(sums, size, n_classes, left)
        rows_left += counts[size]
    previous = -1
    for code in range(size):
        if counts[code] == 0:
            continue
        cuts_here = previous >= 0 and (cut == ANY_CUT or previous <= cut < code)
        if cuts_here and _allowed(rows_left, n_rows, weight_left, weight_all, rules):
            score = _class_score(left, totals, weight_left, weight_all, n_classes, criterion, targets.whole)
            offer(best, score, column, previous, missing_left, rows_left)
        weight_left += _add_classes(sums, code, n_classes, left)
        rows_left += counts[code]
        previous = code
    if counts[size] > 0 and not missing_left and _allowed(rows_left, n_rows, weight_left, weight_all, rules):
        score = _class_score(left, totals, weight_left, weight_all, n_classes, criterion, targets.whole)
        offer(best, score, column, previous, False, rows_left)


@loop
def sweep_number_histogram(
    sums: Any, counts: Any, node: NodeFacts, column: int, cut: int, missing_left: bool, best: Any
) -> None:
    """Splits of a column whose code c has `counts[c]` rows, the sum `sums[2 c]` and the weight `sums[2 c + 1]`."""
    n_rows, size, weight_all, rules = len(node.targets.numbers), len(counts) - 1, node.totals[1], node.rules
    sum_left, weight_left, rows_left = 0.0, 0.0, 0
    if missing_left:
        sum_left, weight_left, rows_left = sums[2 * size], sums[2 * size + 1], counts[size]
    previous = -1
    for code in range(size):
        if counts[code] == 0:
            continue
        cuts_here = previous >= 0 and (cut == ANY_CUT or previous <= cut < code)
        if cuts_here and _allowed(rows_left, n_rows, weight_left, weight_all, rules):
            offer(best, _number_score(sum_left, weight_left, weight_all), column, previous, missing_left, rows_left)
        sum_left, weight_left = sum_left + sums[2 * code], weight_left + sums[2 * code + 1]
        rows_left += counts[code]
        previous = code
    if counts[size] > 0 and not missing_left and _allowed(rows_left, n_rows, weight_left, weight_all, rules):
        offer(best, _number_score(sum_left, weight_left, weight_all), column, previous, False, rows_left)


@loop
def _allowed(rows_left: int, n_rows: int, weight_left: float, weight_all: float, rules: Any) -> bool:
    """Whether both sides are large enough."""
    weight_right = weight_all - weight_left
    return (
        rows_left >= rules.min_samples_leaf
        and n_rows - rows_left >= rules.min_samples_leaf
        and weight_left > 0.0
        and weight_right > 0.0
        and weight_left >= rules.min_weight_leaf
        and weight_right >= rules.min_weight_leaf
    )


@loop
def _add_classes(sums: Any, code: int, n_classes: int, left: Any) -> float:
    """Add the rows of one code to the left side; return their weight."""
    weight = 0.0
    for k in range(n_classes):
        left[k] += sums[code * n_classes + k]
        weight += sums[code * n_classes + k]
    return weight


@loop
def _class_score(
    left: Any, totals: Any, weight_left: float, weight_all: float, n_classes: int, criterion: int, whole: bool
) -> float:
    """Worth of a split, from the class weights of its left side and of the node."""
    left_part, right_part = 0.0, 0.0
    weight_right = weight_all - weight_left
    if criterion == GINI:
        for k in range(n_classes):
            right = totals[k] - left[k]
            left_part += left[k] * left[k]
            right_part += right * right
        score = left_part / weight_left + right_part / weight_right
    else:
        for k in range(n_classes):
            left_part += _x_log_x(left[k])
            right_part += _x_log_x(totals[k] - left[k])
        score = (left_part - _x_log_x(weight_left)) + (right_part - _x_log_x(weight_right))
    return score if whole else _first_digits(score)


@loop
def _number_score(sum_left: float, weight_left: float, weight_all: float) -> float:
    return _first_digits(sum_left / weight_left * (sum_left / (weight_all - weight_left)) * weight_all)


@loop
def _first_digits(score: float) -> float:
    """The number rounded to 36 binary digits (Veltkamp's splitting)."""
    scaled = 131073.0 * score
    return scaled - (scaled - score)


@loop
def _x_log_x(x: float) -> float:
    """The continuous x log x, which is 0 at 0."""
    return x * math.log(x) if x > 0.0 else 0.0


@loop
def split_gain(best: Any, node: NodeFacts) -> float:
    """What the best split has gained: its score less that of the node as it is. Minus infinity where it may not be."""
    totals, n_classes, criterion = node.totals, node.targets.n_classes, node.rules.criterion
    part = 0.0
    for k in range(n_classes):
        part += totals[k] * totals[k] if criterion == GINI else _x_log_x(totals[k])
    if n_classes > 0:
        part = part / totals[n_classes] if criterion == GINI else part - _x_log_x(totals[n_classes])
    gain = best[SCORE] - part
    return float(gain if gain >= node.rules.least_gain else -np.inf)
